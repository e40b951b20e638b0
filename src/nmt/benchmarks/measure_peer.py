"""Measure how fast another toolkit trains an experiment's Transformer on the same batches.

Prints the target tokens a second as JSON; benchmark_training.py compares them with this project's.
Needs a Python with the toolkits of envs/peers.txt. Model and loss are the toolkit's own
(nmt.benchmarks.peers). Batches (length-sorted), Adam (torch's fused implementation), clipping and
autocast are ours for all of them.
"""

import argparse
import itertools
import json
import time

import torch
from torch import nn

from nmt import command
from nmt.benchmarks.peers import TOOLKITS, build, comparable_model
from nmt.benchmarks.training_speed import arguments, repeat
from nmt.configuration import load_catalog
from nmt.data.batches import Batches
from nmt.data.tokens import ParallelTokens
from nmt.device import autocast
from nmt.errors import UserError
from nmt.training.machine import AUTOCAST


def main(args: argparse.Namespace) -> None:
    """Train with the toolkit's model and loss, and print the target tokens a second."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    experiment = load_catalog(args.catalog).experiment(args.experiment)
    config = comparable_model(experiment.model, args.experiment)
    tokens = ParallelTokens.load(args.tokens)
    vocabulary_size = tokens.meta["vocabulary_sizes"][0]
    settings = experiment.training
    peer = build(args.toolkit, config, vocabulary_size, settings.label_smoothing)
    peer.model.train()
    parameters = list(peer.model.parameters())
    optimizer = torch.optim.Adam(parameters, lr=1e-4, betas=settings.adam_betas, fused=True)
    batches = Batches.for_training(tokens, settings, seed=1)
    updates = itertools.chain.from_iterable(map(batches.epoch, itertools.count(1)))

    def update() -> tuple[int, float]:
        """Train on the next batch; return its target tokens and the seconds."""
        micro_batches = next(updates)
        loaded = [batches.load(indices) for indices in micro_batches]
        target_tokens = sum(batches.target_tokens(indices) for indices in micro_batches)
        start = time.perf_counter()
        for batch in loaded:
            with autocast(batch.source.device, AUTOCAST[settings.precision]):
                loss = peer.loss(batch)
            (loss / target_tokens).backward()
        norm = nn.utils.get_total_norm([p.grad for p in parameters if p.grad is not None])
        if settings.gradient_clip:
            nn.utils.clip_grads_with_norm_(parameters, settings.gradient_clip, norm)
        optimizer.step()
        optimizer.zero_grad()
        if not norm.isfinite():
            raise UserError(
                f"the gradient of {args.toolkit} is NaN or infinite, so its speed would be"
                " meaningless."
            )
        return target_tokens, time.perf_counter() - start

    measured = repeat(update, args.seconds)
    target_tokens = sum(count for count, _ in measured)
    seconds = sum(update_seconds for _, update_seconds in measured)
    print(json.dumps({"target_tokens_per_second": target_tokens / seconds}))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--toolkit", required=True, choices=TOOLKITS)
    command.run(main, parser)
