"""Measures how fast one row trains on this machine, and writes the numbers as JSON; benchmark.py compares many."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import torch

from nmt import command
from nmt.configuration import load_catalogue
from nmt.data.tokens import ParallelTokens
from nmt.training.processes import joined
from nmt.training.speed import measure


def main(args: argparse.Namespace) -> None:
    torch.set_num_threads(args.threads)
    experiment = load_catalogue(args.catalogue).experiment(args.experiment)
    tokens = ParallelTokens.load(args.tokens)
    with joined() as processes:
        print(json.dumps(asdict(measure(experiment, tokens, args.seconds, processes))))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--catalogue", type=Path, default=Path("config"), metavar="FOLDER")
    parser.add_argument("--experiment", required=True, metavar="NAME", help="an entry of experiments.yaml")
    parser.add_argument("--tokens", type=Path, required=True, metavar="FOLDER", help="the training set, binarised")
    parser.add_argument("--seconds", type=command.number(0), default=10)
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    command.run(main, parser)
