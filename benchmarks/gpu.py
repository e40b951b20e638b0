"""Measure what a GPU does with this project, in order of worth: large models, then small ones.

The table is written after every line, so that whatever ends the command leaves what was known.
Sentences are random, of lengths like those of newstest, for small models like those of Multi30k.
"""

import argparse
import gc
import logging
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from harness import arguments, device_of, write
from peers import train_step

from nmt import command
from nmt.configuration import Decoding, Experiment, load_catalog
from nmt.data.batches import Batches, Partition
from nmt.data.sequences import Source
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.decoding.search import Hypothesis
from nmt.decoding.search import search as beam_search
from nmt.decoding.translator import decode_in_batches, lengths_of
from nmt.models.build import build
from nmt.models.protocol import EOS
from nmt.training.machine import AUTOCAST, matrix_product_rate
from nmt.training.speed import Speed, measure, timed

SMALL = "transformer decoder-only seq2seq luong rnnsearch rnnencdec gnmt moe convs2s bytenet"


class Text(NamedTuple):
    """A vocabulary's size, pairs, and their lengths' near log-normal distribution."""

    vocabulary: int
    pairs: int
    mean: float
    sigma: float


NEWSTEST, MULTI30K = Text(37_000, 200_000, 29, 0.6), Text(4_000, 29_000, 15, 0.35)


def main(args: argparse.Namespace) -> None:
    """Measure until all is known, or the time is over."""
    end = time.monotonic() + 60 * args.minutes
    device, catalog = device_of(args), load_catalog("config")
    lines: list[dict] = []
    large, small = made_tokens(NEWSTEST), made_tokens(MULTI30K)
    measurements = [(training, name, large) for name in args.large]
    measurements += [(training, name, small) for name in args.small[:1]]
    measurements += [(marian, name, large) for name in args.large]
    measurements += [(search, name, large) for name in args.large]
    measurements += [(training, name, small) for name in args.small[1:]]
    for measurement, name, tokens in measurements:
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


def made_tokens(text: Text) -> ParallelTokens:
    """Return random sentence pairs whose sides are about equally long."""
    rng = np.random.default_rng(1)
    common = rng.normal(np.log(text.mean) - text.sigma**2 / 2, text.sigma, text.pairs)
    sides = []
    for _ in range(2):
        lengths = np.exp(common + rng.normal(0, 0.15, text.pairs)).astype(np.int64).clip(1, 250)
        offsets = np.concatenate([[0], lengths.cumsum()])
        tokens = rng.integers(EOS + 1, text.vocabulary, offsets[-1], np.uint32)
        sides.append(Ragged(tokens, offsets))
    return ParallelTokens(*sides, {"vocabulary_sizes": [text.vocabulary] * 2})


def training(
    experiment: Experiment, tokens: ParallelTokens, device: torch.device, args: argparse.Namespace
) -> dict[str, str]:
    """Return target tokens a second, MFU relative to the measured peak, and memory."""
    peak = matrix_product_rate(device, AUTOCAST[experiment.training.precision] or torch.float32)
    if device.type == "cuda":
        gc.collect()  # the trainer measured before this one, which refers to itself
        torch.cuda.reset_peak_memory_stats(device)
    speed = measure(experiment, tokens, device, args.updates)
    cells = rates(speed)
    cells["MFU"] = f"{speed.flops(experiment, tokens) / speed.seconds / peak:.0%}"
    if device.type == "cuda":
        cells["GB"] = f"{torch.cuda.max_memory_allocated(device) / 1e9:.1f}"
    return cells


def marian(
    experiment: Experiment, tokens: ParallelTokens, device: torch.device, args: argparse.Namespace
) -> dict[str, str]:
    """Return target tokens a second of transformers' MarianMT, on padded batches."""
    torch.manual_seed(1)
    step = train_step("transformers", experiment, tokens.meta["vocabulary_sizes"][0], device)
    batches = Batches.for_training(tokens, experiment.training, seed=1)
    one = Batches(tokens, batches.budget * batches.per_update, seed=1)  # of one length an update
    return rates(timed(step, one.stream(1, 0, Partition(), device), device, args.updates))


def rates(speed: Speed) -> dict[str, str]:
    """Return a training's cells."""
    return {
        "a second": f"{speed.target_tokens / speed.seconds:,.0f} target tokens",
        "updates/s": f"{speed.updates / speed.seconds:,.1f}",
    }


def search(
    experiment: Experiment, tokens: ParallelTokens, device: torch.device, args: argparse.Namespace
) -> dict[str, str]:
    """Return sentences a second of beam search with random weights.

    They never end a sentence: each is as long as its target, which differs from the source.
    """
    model = build(experiment.model, *tokens.meta["vocabulary_sizes"]).to(device)
    if device.type == "cuda":
        model.half()
    sources, targets = (side.lists()[: args.sentences] for side in (tokens.source, tokens.target))
    decoding = Decoding(beam=4)

    def decode(source: Source, numbers: list[int]) -> list[list[Hypothesis]]:
        limits = [len(targets[number]) for number in numbers]
        return beam_search(model, source, limits, decoding)

    for batch in (sources[:100], sources):  # first calls load kernels
        begun = time.monotonic()
        for _ in decode_in_batches(model, batch, lengths_of(batch), decoding.beam, decode):
            pass
    return {"a second": f"{len(sources) / (time.monotonic() - begun):,.1f} sentences"}


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.set_defaults(rounds=1, output=Path("results/gpu.md"))
    whole = command.whole_number(1)
    parser.add_argument("--minutes", type=command.number(0), default=8, help="begin nothing after")
    parser.add_argument("--large", nargs="*", default=["transformer-base", "transformer-big"])
    parser.add_argument(
        "--small", nargs="*", default=[f"multi30k-small-{f}" for f in SMALL.split()]
    )
    parser.add_argument("--sentences", type=whole, default=3_000, help="that are translated")
    parser.add_argument("--updates", type=whole, default=100)
    command.run(main, parser)
