"""Measure what a GPU does with this project, in order of worth: large models, then small ones.

The table is written after every line, so that whatever ends the command leaves what was known.
Sentences are random, of lengths like those of newstest.
"""

import argparse
import logging
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from harness import arguments, device_of, write
from peers import padded, train_step

from nmt import command
from nmt.configuration import Decoding, Experiment, load_catalog
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.decoding.translator import translate_tokens
from nmt.models.build import build
from nmt.models.protocol import EOS
from nmt.training.machine import AUTOCAST, matrix_product_rate
from nmt.training.speed import measure, timed

SMALL = "transformer decoder-only seq2seq luong rnnsearch rnnencdec gnmt moe convs2s bytenet"
MEAN_LENGTH, SIGMA = 29, 0.6  # of newstest2014 in these subwords: near a log-normal distribution
VOCABULARY, PAIRS = 37_000, 200_000


def main(args: argparse.Namespace) -> None:
    """Measure until all is known, or the time is over."""
    end = time.monotonic() + 60 * args.minutes
    device, catalog = device_of(args), load_catalog("config")
    tokens = made_tokens()
    lines: list[dict] = []
    measurements = [(training, name) for name in args.large]
    measurements += [(marian, name) for name in args.large]
    measurements += [(search, name) for name in args.large]
    measurements += [(training, name) for name in args.small]
    for measurement, name in measurements:
        if time.monotonic() > end:
            break
        line = {"what": measurement.__name__, "experiment": name}
        try:
            line |= measurement(catalog.experiment(name), tokens, device, args)
        except Exception as error:  # the next one may go well
            logging.exception(name)
            line["failed"] = str(error).partition("\n")[0]
        lines.append(line)
        logging.info(line)
        write(args, pd.DataFrame(lines).fillna(""), device)
    print(args.output.read_text(encoding="utf-8"), end="")


def made_tokens() -> ParallelTokens:
    """Return random sentence pairs whose sides are about equally long."""
    rng = np.random.default_rng(1)
    common = rng.normal(np.log(MEAN_LENGTH) - SIGMA**2 / 2, SIGMA, PAIRS)
    sides = []
    for _ in range(2):
        lengths = np.exp(common + rng.normal(0, 0.15, PAIRS)).astype(np.int64).clip(1, 250)
        offsets = np.concatenate([[0], lengths.cumsum()])
        sides.append(Ragged(rng.integers(EOS + 1, VOCABULARY, offsets[-1], np.uint32), offsets))
    return ParallelTokens(sides[0], sides[1], {"vocabulary_sizes": [VOCABULARY, VOCABULARY]})


def training(
    experiment: Experiment, tokens: ParallelTokens, device: torch.device, args: argparse.Namespace
) -> dict[str, str]:
    """Return target tokens a second, MFU relative to the measured peak, and memory."""
    peak = matrix_product_rate(device, AUTOCAST[experiment.training.precision] or torch.float32)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    speed = measure(experiment, tokens, device, args.updates)
    cells = {"a second": f"{speed.target_tokens / speed.seconds:,.0f} target tokens"}
    cells["MFU"] = f"{speed.flops(experiment, tokens) / speed.seconds / peak:.0%}"
    if device.type == "cuda":
        cells["GB"] = f"{torch.cuda.max_memory_allocated(device) / 1e9:.1f}"
    return cells


def marian(
    experiment: Experiment, tokens: ParallelTokens, device: torch.device, args: argparse.Namespace
) -> dict[str, str]:
    """Return target tokens a second of transformers' MarianMT, on padded batches."""
    torch.manual_seed(1)
    step = train_step("transformers", experiment, VOCABULARY, device)
    speed = timed(step, padded(experiment, tokens, device), device, args.updates)
    return {"a second": f"{speed.target_tokens / speed.seconds:,.0f} target tokens"}


def search(
    experiment: Experiment, tokens: ParallelTokens, device: torch.device, args: argparse.Namespace
) -> dict[str, str]:
    """Return sentences a second of beam search with random weights, about as long as sources."""
    model = build(experiment.model, *tokens.meta["vocabulary_sizes"]).to(device)
    sources = tokens.source.lists()[: args.sentences]
    for batch in (sources[:100], sources):  # first calls load kernels
        begun = time.monotonic()
        for _ in translate_tokens(model, batch, Decoding(beam=4, max_extra=1)):
            pass
    return {"a second": f"{len(sources) / (time.monotonic() - begun):,.1f} sentences"}


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.set_defaults(rounds=1, output=Path("results/gpu.md"))
    whole = command.whole_number(1)
    parser.add_argument("--minutes", type=command.number(0), default=8, help="begin nothing after")
    parser.add_argument("--large", nargs="*", default=["transformer-base", "transformer-big"])
    parser.add_argument("--small", nargs="*", default=[f"demo-small-{f}" for f in SMALL.split()])
    parser.add_argument("--sentences", type=whole, default=3_000, help="that are translated")
    parser.add_argument("--updates", type=whole, default=100)
    command.run(main, parser)
