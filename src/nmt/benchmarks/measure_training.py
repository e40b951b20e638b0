"""Measure how fast an experiment trains on this machine, and print the numbers as JSON.

benchmark_training.py compares several experiments and versions.
"""

import argparse
import json
from dataclasses import asdict

import torch

from nmt import command
from nmt.benchmarks.optimizations import REPLACEMENTS
from nmt.benchmarks.training_speed import arguments, measure
from nmt.configuration import load_catalog
from nmt.data.tokens import ParallelTokens
from nmt.training.distributed import process_group


def main(args: argparse.Namespace) -> None:
    """Measure the experiment, without one of the optimizations if asked to, and print its speed."""
    torch.set_num_threads(args.threads)
    if args.without:
        owner, name, replacement = REPLACEMENTS[args.without]
        setattr(owner, name, replacement)
    experiment = load_catalog(args.catalog).experiment(args.experiment)
    tokens = ParallelTokens.load(args.tokens)
    with process_group() as group:
        speed = measure(experiment, tokens, args.seconds, group)
        if group.is_main:
            print(json.dumps(asdict(speed)))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument(
        "--without", choices=REPLACEMENTS, help="leave out this one of the optimizations"
    )
    command.run(main, parser)
