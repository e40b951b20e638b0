"""Measure whole training programs on the same text, interleaved, and write a table.

Each program trains the same Transformer for one epoch, with its own loading, batches, optimizer and
logging. From time and tokens those of an epoch of a fifth of the pairs are subtracted: starting,
ending and the first updates. The table has target tokens a second, and how many times as fast this
project is.
"""

import argparse
import os
import shutil
import sys
import tempfile
from pathlib import Path

from nmt import command

# isort: split
import pandas as pd
import torch

from nmt.benchmarks.peers import WHOLE_TOOLKITS
from nmt.benchmarks.programs import (
    ALL,
    DEV,
    DEV_PAIRS,
    FEW,
    SIDES,
    Comparison,
    measure,
    programs,
    write_part,
    write_vocabulary,
)
from nmt.benchmarks.report import measured_in_turn, speeds
from nmt.configuration import load_catalog
from nmt.device import choose_device
from nmt.files import write_text
from nmt.provenance import commit
from nmt.text.subwords import SubwordPair
from nmt.training.machine import device_name


def main(args: argparse.Namespace) -> None:
    """Write the text, run every program once a round, and write the table."""
    texts = (args.source, args.target)
    with tempfile.TemporaryDirectory() as folder:
        comparison = Comparison(
            catalog=args.catalog.resolve(),
            name=args.experiment,
            experiment=load_catalog(args.catalog).experiment(args.experiment),
            corpus=args.corpus,
            subwords=args.subwords.resolve(),
            vocabulary_size=SubwordPair.load(args.subwords).target.size,
            threads=args.threads,
            # Programs run in another folder
            python=os.path.abspath(shutil.which(args.peers_python) or args.peers_python),
            folder=Path(folder),
        )
        by_name = programs(["this", *args.programs], comparison)
        write_part(comparison, DEV, texts, DEV_PAIRS)
        few = write_part(comparison, FEW, texts, args.pairs // 5)
        every = write_part(comparison, ALL, texts, args.pairs)
        write_vocabulary(comparison)
        turns = [{"program": name} for _ in range(args.rounds) for name in by_name]
        measurements = measured_in_turn(
            turns, lambda program: measure(by_name[program], comparison, few, every), args.csv
        )
    table = markdown(measurements, args)
    write_text(args.markdown, table)
    print(table, end="")


def markdown(measurements: pd.DataFrame, args: argparse.Namespace) -> str:
    """Return the table, one line for each program, and how it was measured."""
    cells = speeds(measurements, "program", "target_tokens_per_second", ",.0f")
    medians = measurements.groupby("program").median().loc[cells.index]
    cells["target tokens"] = medians.target_tokens.map("{:,.0f}".format)
    few = f"{args.pairs // 5:,}"
    cells[f"{few} pairs (s)"] = medians.seconds_of_few.map("{:.1f}".format)
    text = cells.to_markdown(disable_numparse=True, stralign="right")
    about = (
        f"{device_name(choose_device())}, threads {args.threads}, commit {commit()}:"
        f" {args.experiment}, an epoch of {args.pairs:,} pairs without that of {few}."
        f" Medians; rounds: {args.rounds}, interleaved; in brackets are the lowest and the highest."
        " To this: the ratio of this project's target tokens a second, in float32, to theirs, of"
        " the medians and round by round."
    )
    return f"{text}\n\n{about}\n"


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_experiment(parser)
    parser.add_argument("--corpus", required=True, metavar="NAME", help="an entry of corpora.yaml")
    parser.add_argument(
        "--subwords",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="made by learn_vocabulary.py",
    )
    for name in SIDES:
        parser.add_argument(
            f"--{name}", type=Path, required=True, metavar="FILE", help="text of the training set"
        )
    parser.add_argument(
        "--pairs",
        type=command.whole_number(5),
        default=5000,
        help="of the epoch; a fifth of them should fill a batch",
    )
    parser.add_argument(
        "--programs", nargs="+", default=[], choices=["this-bfloat16", *WHOLE_TOOLKITS]
    )
    parser.add_argument(
        "--peers-python",
        default=sys.executable,
        metavar="FILE",
        help="the Python that has the toolkits of envs/peers.txt",
    )
    parser.add_argument("--rounds", type=command.whole_number(1), default=5)
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    for name in ("csv", "markdown"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
