"""Measure how fast this project and others translate, interleaved, and write a table.

It has sentences a second (median, lowest and highest of all rounds) and how many times as fast this
project is in float32. All translate the same sources, in the same batches, to the same lengths
(nmt.benchmarks.measure_search).
"""

import argparse
import sys
from pathlib import Path

from nmt import command

# isort: split
import pandas as pd
import torch

from nmt.benchmarks.peers import SEARCH_TOOLKITS, TOOLKITS
from nmt.benchmarks.report import measured_in_turn, speeds
from nmt.benchmarks.worker import busy_processes, run_worker
from nmt.device import choose_device
from nmt.files import write_text
from nmt.provenance import commit
from nmt.training.machine import device_name

SEARCH = "nmt.benchmarks.measure_search"


def main(args: argparse.Namespace) -> None:
    """Measure every toolkit once a round, and write the results."""
    toolkits = ["this", *args.toolkits]
    options = {
        "model": args.model,
        "sources": args.sources,
        "beam": args.beam,
        "sentences": args.sentences,
        "threads": args.threads,
    }

    def measure(toolkit: str) -> dict:
        python = args.peers_python if toolkit in TOOLKITS else sys.executable
        worker = [python, "-m", SEARCH, f"--toolkit={toolkit}"]
        with busy_processes(args.busy):
            return run_worker(toolkit, worker, options)

    turns = [{"toolkit": toolkit} for _ in range(args.rounds) for toolkit in toolkits]
    measurements = measured_in_turn(turns, measure, args.csv)
    table = markdown(measurements, args)
    write_text(args.markdown, table)
    print(table, end="")


def markdown(measurements: pd.DataFrame, args: argparse.Namespace) -> str:
    """Return the table, one line for each toolkit, and how it was measured."""
    cells = speeds(measurements, "toolkit", "sentences_per_second", ".1f")
    text = cells.to_markdown(disable_numparse=True, stralign="right")
    about = (
        f"{device_name(choose_device())}, threads {args.threads}, busy processes beside it"
        f" {args.busy}, commit {commit()}: beam {args.beam}, batches of {args.sentences} sentences."
        f" Medians; rounds: {args.rounds}, interleaved; in brackets are the lowest and the highest."
        " To this: the ratio of this project's sentences a second, in float32, to theirs, of the"
        " medians and round by round."
    )
    return f"{text}\n\n{about}\n"


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
        "--sources",
        type=Path,
        required=True,
        metavar="FILE",
        help="plain text, one sentence per line",
    )
    parser.add_argument("--toolkits", nargs="+", default=[], choices=SEARCH_TOOLKITS)
    parser.add_argument(
        "--peers-python",
        default=sys.executable,
        metavar="FILE",
        help="the Python that has the toolkits of envs/peers.txt",
    )
    parser.add_argument("--rounds", type=command.whole_number(1), default=5)
    parser.add_argument("--beam", type=command.whole_number(1), default=4)
    parser.add_argument(
        "--sentences", type=command.whole_number(1), default=100, help="sentences per batch"
    )
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    parser.add_argument(
        "--busy",
        type=command.whole_number(0),
        default=0,
        help="processes that compute all the time beside it",
    )
    for name in ("csv", "markdown"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
