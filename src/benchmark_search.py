"""Measures how fast this project and others translate, alternating between them, and writes a
table.

It has sentences a second, median, lowest and highest of all rounds, and how many times as fast this
project is in float32. All translate the same sources, in the same batches, to the same lengths
(nmt.benchmarks.measure_search).
"""

import argparse
import sys
from pathlib import Path

import pandas as pd
import torch

from nmt import command
from nmt.benchmarks.peers import SEARCHES, TOOLKITS
from nmt.benchmarks.report import ratio, rounds, spread
from nmt.benchmarks.worker import run_worker
from nmt.files import write_text
from nmt.progress import progress
from nmt.provenance import commit
from nmt.training.machine import best_device, device_name

SEARCH = "nmt.benchmarks.measure_search"


def main(args: argparse.Namespace) -> None:
    toolkits = ["this", *args.toolkits]
    named = {
        name: getattr(args, name) for name in ("model", "sources", "beam", "sentences", "threads")
    }
    turns = [toolkit for _ in range(args.rounds) for toolkit in toolkits]
    lines = []
    for toolkit in progress(turns, "benchmark", len(turns), "measurements"):
        python = args.peers_python if toolkit in TOOLKITS else sys.executable
        found = run_worker(toolkit, [python, "-m", SEARCH, f"--toolkit={toolkit}"], named)
        lines.append({"toolkit": toolkit} | found)
        measurements = pd.DataFrame(lines)
        write_text(args.csv, measurements.to_csv(index=False))  # at once: a later one may fail
    table = markdown(measurements, args)
    write_text(args.markdown, table)
    print(table, end="")


def markdown(measurements: pd.DataFrame, args: argparse.Namespace) -> str:
    rates = rounds(measurements, "toolkit", "sentences_per_second")
    columns = {
        "sentences/s": [spread(rates[each].median(), rates[each], ".1f") for each in rates],
        "to this": [ratio(rates["this"], rates[each]) for each in rates],
    }
    about = (
        f"{device_name(best_device())}, threads {args.threads}, commit {commit()}: beam"
        f" {args.beam}, batches of {args.sentences} sentences. Medians; rounds: {args.rounds},"
        " interleaved; in brackets are the lowest and the highest. To this: the ratio of this project's"
        " sentences a second, in float32, to theirs, of the medians and round by round."
    )
    return f"{pd.DataFrame(columns, rates.columns).to_markdown(disable_numparse=True, stralign='right')}\n\n{about}\n"


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--model",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="a Transformer, made by average.py",
    )
    parser.add_argument(
        "--sources", type=Path, required=True, metavar="FILE", help="plain text, a sentence a line"
    )
    parser.add_argument("--toolkits", nargs="+", default=[], choices=SEARCHES)
    parser.add_argument(
        "--peers-python", default=sys.executable, metavar="FILE", help="the Python that has them"
    )
    parser.add_argument("--rounds", type=command.whole_number(1), default=5)
    parser.add_argument("--beam", type=command.whole_number(1), default=4)
    parser.add_argument("--sentences", type=command.whole_number(1), default=100, help="of a batch")
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    for name in ("csv", "markdown"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
