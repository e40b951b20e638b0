"""Measure whole training programs on the same text, interleaved, and write a table.

Each program trains a Transformer for one epoch, with its own loading, batches, optimizer and
logging; the time of an epoch of 100 pairs is subtracted, which is that of starting and ending.
The table has target tokens a second, and how many times as fast this project is.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from nmt import command

# isort: split
import pandas as pd
import torch

from nmt.benchmarks.peers import TOOLKITS
from nmt.benchmarks.programs import (
    SIDES,
    SMALL,
    Setting,
    measure,
    write_part,
    write_vocabulary,
)
from nmt.benchmarks.report import ratio, rounds, spread
from nmt.configuration import Transformer, load_catalog
from nmt.device import choose_device
from nmt.errors import UserError
from nmt.files import write_text
from nmt.progress import progress
from nmt.provenance import commit
from nmt.text.subwords import SubwordPair
from nmt.training.machine import device_name

SMALL_PAIRS = 100
PROGRAMS = ("this-bfloat16", *(name for name in TOOLKITS if name != "torch"))


def main(args: argparse.Namespace) -> None:
    """Write the text, run every program once a round, and write the table."""
    experiment = load_catalog(args.catalog).experiment(args.experiment)
    if not isinstance(experiment.model, Transformer):
        raise UserError(
            f"{args.experiment} is not a Transformer: other toolkits are compared on Transformers"
            " only."
        )
    texts = (args.source, args.target)
    programs = ["this", *args.programs]
    turns = [program for _ in range(args.rounds) for program in programs]
    records = []
    with tempfile.TemporaryDirectory() as folder:
        setting = Setting(
            args.catalog.resolve(),
            args.experiment,
            experiment,
            args.corpus,
            args.subwords.resolve(),
            SubwordPair.load(args.subwords).target.size,
            args.threads,
            args.peers_python,
            Path(folder),
        )
        small = write_part(setting, SMALL, texts, SMALL_PAIRS)
        whole = write_part(setting, "whole", texts, args.pairs)
        write_vocabulary(setting)
        for program in progress(turns, "benchmark", len(turns), "measurements"):
            records.append({"program": program} | measure(program, setting, small, whole))
            measurements = pd.DataFrame(records)
            # Written after every measurement, because a later one may fail
            write_text(args.csv, measurements.to_csv(index=False))
    table = markdown(measurements, args)
    write_text(args.markdown, table)
    print(table, end="")


def markdown(measurements: pd.DataFrame, args: argparse.Namespace) -> str:
    """Return the table, one line for each program, and how it was measured."""
    rates = rounds(measurements, "program", "target_tokens_per_second")
    medians = measurements.groupby("program").median()
    columns = {
        "target tokens/s": [spread(rates[name].median(), rates[name], ",.0f") for name in rates],
        "speedup": [ratio(rates["this"], rates[name]) for name in rates],
        "start (s)": [f"{medians.start_seconds[name]:.1f}" for name in rates],
        "target tokens": [f"{medians.target_tokens[name]:,.0f}" for name in rates],
    }
    cells = pd.DataFrame(columns, rates.columns)
    text = cells.to_markdown(disable_numparse=True, stralign="right")
    about = (
        f"{device_name(choose_device())}, threads {args.threads}, commit {commit()}:"
        f" {args.experiment}, an epoch of {args.pairs:,} pairs. Medians; rounds: {args.rounds},"
        " interleaved; in brackets are the lowest and the highest. Speedup: the ratio of this"
        " project's target tokens a second, in float32, to theirs, of the medians and round by"
        f" round. Start: the time of {SMALL_PAIRS} pairs, which is not counted."
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
    parser.add_argument("--pairs", type=command.whole_number(SMALL_PAIRS + 1), default=10_000)
    parser.add_argument("--programs", nargs="+", default=[], choices=PROGRAMS)
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
