"""Measures how fast rows train on this machine, alternating between them, and writes a table and a
figure.

With --against, another checkout of this repository is measured too, interleaved; with --without this
code without some of what makes it fast; and with --peers other toolkits, which --peers-python must
have (envs/peers.txt). The table has the ratio of this code's tokens a second to theirs.
"""

import argparse
import sys
from pathlib import Path

import pandas as pd
import torch

from nmt import command
from nmt.benchmarks.optimizations import CLEARED, MEASURES
from nmt.benchmarks.peers import TOOLKITS
from nmt.benchmarks.report import drawn, markdown
from nmt.benchmarks.worker import SOURCE, run_worker
from nmt.errors import UserError
from nmt.files import write_text
from nmt.paper.drawing import save
from nmt.progress import progress
from nmt.provenance import commit
from nmt.training.machine import best_device, device_name

TRAINING, PEER = "nmt.benchmarks.measure_training", "nmt.benchmarks.measure_peer"


def main(args: argparse.Namespace) -> None:
    if len(args.tokens) != len(args.experiments):
        raise UserError(
            f"{len(args.experiments)} experiments but {len(args.tokens)} folders of tokens: give"
            " each its own."
        )
    this = [sys.executable, "-m", TRAINING]
    versions = {"this": this}
    sources = {}
    if args.against:
        sources["other"] = args.against / "src"
        if not (sources["other"] / f"{TRAINING.replace('.', '/')}.py").exists():
            raise UserError(
                f"{args.against} cannot be compared with: src has no module {TRAINING} there."
            )
        versions["other"] = this
    for name in args.without:
        without = (
            ["env", f"--unset={CLEARED[name]}", *this]
            if name in CLEARED
            else [*this, f"--without={name}"]
        )
        versions[f"without {name}"] = without
    for peer in args.peers:
        versions[peer] = [args.peers_python, "-m", PEER, f"--toolkit={peer}"]
    rows = list(zip(args.experiments, args.tokens, strict=True))
    turns = [(*row, version) for _ in range(args.rounds) for row in rows for version in versions]
    lines = []
    for name, tokens, version in progress(turns, "benchmark", len(turns), "measurements"):
        named = {"catalog": args.catalog, "experiment": name, "tokens": tokens}
        named |= {"seconds": args.seconds, "threads": args.threads}
        lines.append(
            {"experiment": name, "version": version}
            | run_worker(name, versions[version], named, sources.get(version, SOURCE))
        )
        measurements = pd.DataFrame(lines)
        write_text(args.csv, measurements.to_csv(index=False))  # at once: a later one may fail
    machine = f"{device_name(best_device())}, threads {args.threads}, commit {commit()}"
    about = f"{machine}. Medians; rounds: {args.rounds}, interleaved."
    table = markdown(measurements, about)
    write_text(args.markdown, table)
    save(drawn(measurements, about), args.pdf, args.png)
    print(table, end="")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--catalog", type=Path, default=Path("config"), metavar="FOLDER")
    parser.add_argument(
        "--experiments",
        nargs="+",
        required=True,
        metavar="NAME",
        help="entries of experiments.yaml",
    )
    parser.add_argument(
        "--tokens", nargs="+", type=Path, required=True, metavar="FOLDER", help="of each, binarized"
    )
    parser.add_argument(
        "--against", type=Path, metavar="FOLDER", help="another checkout of this repository"
    )
    parser.add_argument(
        "--without",
        nargs="+",
        default=[],
        choices=MEASURES,
        help="what makes it fast, one at a time",
    )
    parser.add_argument("--peers", nargs="+", default=[], choices=TOOLKITS)
    parser.add_argument(
        "--peers-python", default=sys.executable, metavar="FILE", help="the Python that has them"
    )
    parser.add_argument("--rounds", type=command.whole_number(1), default=5)
    parser.add_argument("--seconds", type=command.number(0), default=10, help="a measurement")
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    for name in ("csv", "markdown", "pdf", "png"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
