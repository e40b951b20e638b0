"""Measure how fast experiments train on this machine, interleaved; write a table and a figure.

With --against, another checkout of this repository is measured as well; with --without, this code
without some of its optimizations; and with --peers, other toolkits, which --peers-python must have
(envs/peers.txt). The table has the ratio of this code's target tokens a second to theirs.
"""

import argparse
import sys
from pathlib import Path

from nmt import command

# isort: split
import torch

from nmt.benchmarks.optimizations import OPTIMIZATIONS, VARIABLES
from nmt.benchmarks.peers import TOOLKITS
from nmt.benchmarks.report import draw, markdown, measured_in_turn
from nmt.benchmarks.worker import SOURCE, run_worker
from nmt.device import choose_device
from nmt.errors import UserError
from nmt.files import write_text
from nmt.paper.drawing import save
from nmt.provenance import commit
from nmt.training.machine import device_name

TRAINING = "nmt.benchmarks.measure_training"
PEER = "nmt.benchmarks.measure_peer"


def main(args: argparse.Namespace) -> None:
    """Measure every version of every experiment, once a round, and write the results."""
    if len(args.tokens) != len(args.experiments):
        raise UserError(
            f"{len(args.experiments)} experiments but {len(args.tokens)} folders of tokens: give"
            " one folder for each experiment."
        )
    commands = worker_commands(args)
    sources = {"other": args.against / "src"} if args.against else {}
    tokens = dict(zip(args.experiments, args.tokens, strict=True))

    def measure(experiment: str, version: str) -> dict:
        options = {
            "catalog": args.catalog,
            "experiment": experiment,
            "tokens": tokens[experiment],
            "seconds": args.seconds,
            "threads": args.threads,
        }
        source = sources.get(version, SOURCE)
        return run_worker(experiment, commands[version], options, source)

    turns = [
        {"experiment": experiment, "version": version}
        for _ in range(args.rounds)
        for experiment in tokens
        for version in commands
    ]
    measurements = measured_in_turn(turns, measure, args.csv)
    machine = f"{device_name(choose_device())}, threads {args.threads}"
    method = f"Medians; rounds: {args.rounds}, interleaved."
    code = commit()
    table = markdown(measurements, f"{machine}, commit {code}. {method}")
    write_text(args.markdown, table)
    save(draw(measurements, f"{machine}. {method}"), args.pdf, args.png, f"Commit {code}")
    print(table, end="")


def worker_commands(args: argparse.Namespace) -> dict[str, list[str]]:
    """Return how the worker of each version is called, by the version's name in tables.

    Raises UserError when the other checkout has no such worker.
    """
    this = [sys.executable, "-m", TRAINING]
    commands = {"this": this}
    if args.against:
        if not (args.against / "src" / f"{TRAINING.replace('.', '/')}.py").exists():
            raise UserError(f"{args.against} cannot be compared: its src has no module {TRAINING}.")
        commands["other"] = this
    for name in args.without:
        if name in VARIABLES:
            commands[f"without {name}"] = ["env", f"--unset={VARIABLES[name]}", *this]
        else:
            commands[f"without {name}"] = [*this, f"--without={name}"]
    for peer in args.peers:
        commands[peer] = [args.peers_python, "-m", PEER, f"--toolkit={peer}"]
    return commands


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--catalog", type=Path, default=Path("config"), metavar="FOLDER")
    parser.add_argument(
        "--experiments",
        nargs="+",
        required=True,
        metavar="NAME",
        help="entries of config/experiments",
    )
    parser.add_argument(
        "--tokens",
        nargs="+",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="the binarized training set of each experiment",
    )
    parser.add_argument(
        "--against", type=Path, metavar="FOLDER", help="another checkout of this repository"
    )
    parser.add_argument(
        "--without",
        nargs="+",
        default=[],
        choices=OPTIMIZATIONS,
        help="optimizations to leave out, one at a time",
    )
    parser.add_argument("--peers", nargs="+", default=[], choices=TOOLKITS)
    parser.add_argument(
        "--peers-python",
        default=sys.executable,
        metavar="FILE",
        help="the Python that has the toolkits of --peers",
    )
    parser.add_argument("--rounds", type=command.whole_number(1), default=5)
    parser.add_argument(
        "--seconds", type=command.number(0), default=10, help="seconds per measurement"
    )
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    for name in ("csv", "markdown", "pdf", "png"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
