"""Measures how fast one row trains on this machine, and writes the numbers as JSON; benchmark.py
compares many.
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
    torch.set_num_threads(args.threads)
    if args.without:
        setattr(*REPLACEMENTS[args.without])
    experiment = load_catalog(args.catalog).experiment(args.experiment)
    tokens = ParallelTokens.load(args.tokens)
    with process_group() as group:
        speed = measure(experiment, tokens, args.seconds, group)
        if group.is_main:
            print(json.dumps(asdict(speed)))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument(
        "--without", choices=REPLACEMENTS, help="one of the optimizations that make it fast"
    )
    command.run(main, parser)
