"""Measures how fast another toolkit trains a row's Transformer on the same batches; benchmark.py
compares.

Needs a Python with the toolkits of envs/peers.txt. Model and loss are the toolkit's own
(nmt.benchmarks.peers); batches (length-sorted), Adam (torch's fused one), clipping and autocast are
ours for all of them.
"""

import argparse
import itertools
import json
import time

import torch
from torch import nn

from nmt import command
from nmt.benchmarks.peers import TOOLKITS, build
from nmt.benchmarks.training_speed import arguments, repeated
from nmt.configuration import Transformer, load_catalog
from nmt.data.batches import Batches
from nmt.data.tokens import ParallelTokens
from nmt.errors import UserError
from nmt.training.trainer import autocast


def main(args: argparse.Namespace) -> None:
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    experiment = load_catalog(args.catalog).experiment(args.experiment)
    if not isinstance(experiment.model, Transformer):
        raise UserError(f"{args.experiment} is no Transformer: others are not compared.")
    tokens = ParallelTokens.load(args.tokens)
    settings = experiment.training
    peer = build(
        args.toolkit, experiment.model, tokens.meta["vocabulary_sizes"][0], settings.label_smoothing
    )
    peer.model.train()
    parameters = list(peer.model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=1e-4, betas=settings.adam_betas, fused=True)
    batches = Batches.for_training(tokens, settings, seed=1)
    updates = itertools.chain.from_iterable(map(batches.epoch, itertools.count(1)))

    def update() -> tuple[int, float]:
        """Target tokens and seconds."""
        chosen = next(updates)
        loaded, target_tokens = (
            [batches.load(batch) for batch in chosen],
            sum(map(batches.target_tokens, chosen)),
        )
        begun = time.perf_counter()
        for batch in loaded:
            with autocast(batch.source.device, settings):
                loss = peer.loss(batch)
            (loss / target_tokens).backward()
        norm = nn.utils.clip_grad_norm_(parameters, settings.gradient_clip or float("inf"))
        optimizer.step()
        optimizer.zero_grad()
        if not norm.isfinite():
            raise UserError(
                f"{args.toolkit} finds no gradient that is a number, so its speed would say"
                " nothing."
            )
        return target_tokens, time.perf_counter() - begun

    done = repeated(update, args.seconds)
    rate = sum(count for count, _ in done) / sum(seconds for _, seconds in done)
    print(json.dumps({"target_tokens_per_second": rate}))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--toolkit", required=True, choices=TOOLKITS)
    command.run(main, parser)
