"""Measure versions of a program in turn, each in a process of its own, and compare their speed.

A benchmark runs its own command line again with --measure: that process measures one version of one
thing, and prints the numbers as JSON. Rounds are interleaved, so that whatever else the machine
does slows all of them.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import torch

from nmt import command
from nmt.configuration import Experiment, read_reproduction
from nmt.data.tokens import ParallelTokens
from nmt.device import choose_device
from nmt.environment import SETTINGS
from nmt.errors import UserError
from nmt.files import write_text
from nmt.provenance import REPOSITORY, commit
from nmt.training.machine import device_name

THIS = "this"  # the version with which all others are compared


@dataclass(frozen=True)
class Row:
    """An experiment of a reproduction: its corpus, its subwords and tokens, and its dev set."""

    name: str
    experiment: Experiment
    corpus: str
    folder: Path
    dev_reference: Path

    def tokens(self) -> ParallelTokens:
        """Return what it learns from."""
        return ParallelTokens.load(self.folder / "tokens" / "train")


def arguments(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the arguments that all benchmarks of models share."""
    parser = command.arguments(description)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--rounds", type=command.whole_number(1), default=5)
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    parser.add_argument("--output", type=Path, metavar="FILE", help="to write the table to, too")
    parser.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    return parser


def add_rows(parser: argparse.ArgumentParser) -> None:
    """Add arguments that name rows of a reproduction, and toolkits to train them with, too."""
    command.add_reproduction(parser)
    parser.add_argument("--rows", nargs="+", metavar="NAME", help="by default those of its tables")
    parser.add_argument("--corpora", type=Path, default=Path("results/corpora"), metavar="FOLDER")
    parser.add_argument("--peers", nargs="+", default=[], choices=["fairseq", "transformers"])
    parser.add_argument(
        "--peers-python",
        default=sys.executable,
        metavar="FILE",
        help="the Python that has the peers (envs/peers.txt)",
    )


def read_rows(args: argparse.Namespace) -> dict[str, Row]:
    """Return the rows that are measured, by name."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    folder = args.corpora.resolve() / reproduction.corpus
    language = catalog.corpus(reproduction.corpus).target
    rows = {}
    for name in args.rows or [
        row for row in reproduction.experiments if row in catalog.experiments
    ]:
        experiment = catalog.experiment(name)
        steps = catalog.vocabulary(experiment.vocabulary).preprocessing_name
        dev = folder / "text" / steps / f"dev.{language}"
        own = folder / experiment.vocabulary
        rows[name] = Row(name, experiment, reproduction.corpus, own, dev)
    return rows


def device_of(args: argparse.Namespace) -> torch.device:
    """Return the device that is measured, after setting the threads."""
    torch.set_num_threads(args.threads)
    return choose_device(gpus=1) if args.device == "cuda" else torch.device("cpu")


def again(
    group: str, version: str, python: str = sys.executable, code: Path = REPOSITORY
) -> list[str]:
    """Return this process's own command line, which measures one version of something.

    code: the checkout whose package nmt is measured.
    """
    path = ["env", f"PYTHONPATH={(code / 'src').resolve()}"]
    return [*path, python, *sys.argv, "--measure", group, version]


def compare(
    args: argparse.Namespace,
    commands: dict[tuple[str, str], list[str]],
    measure: Callable[[str, str], dict[str, float]],
) -> None:
    """Measure what --measure names, or without it all versions in turn, and print a table.

    commands: by group and version. measure: returns numbers by name, a speed first: the table ends
      with how many times as fast `this` is. Raises UserError when a version cannot be measured.
    """
    if args.measure:
        print(json.dumps(measure(*args.measure)))
        return
    numbers: dict[tuple[str, str], list[dict]] = {key: [] for key in commands}
    for _ in range(args.rounds):
        for key, words in commands.items():
            environment = SETTINGS | os.environ
            process = subprocess.run(words, stdout=subprocess.PIPE, env=environment, check=False)
            if process.returncode:
                raise UserError(f"{' '.join(key)} could not be measured: see above.")
            numbers[key].append(json.loads(process.stdout.splitlines()[-1]))
    measured = {key: pd.DataFrame(values) for key, values in numbers.items()}
    lines = []
    for (group, version), values in measured.items():
        speed = values.columns[0]
        ratio = spread(measured[group, THIS][speed] / values[speed])
        cells = {column: spread(values[column]) for column in values}
        lines.append({"": group, "version": version, **cells, f"{THIS} / it": ratio})
    print(write(args, pd.DataFrame(lines), torch.device(args.device)), end="")


def spread(values: pd.Series) -> str:
    """Return the median, and in brackets the lowest and the highest value."""
    shown = [values.median(), values.min(), values.max()]
    median, low, high = (f"{x:,.0f}" if shown[0] >= 100 else f"{x:.3g}" for x in shown)
    return median if low == high else f"{median} ({low} to {high})"


def write(args: argparse.Namespace, table: pd.DataFrame, device: torch.device) -> str:
    """Return a table and how it was measured, after writing both to --output."""
    about = (
        f"{device_name(device)}, threads {args.threads}, torch {torch.__version__},"
        f" commit {commit()}, rounds {args.rounds}: medians (lowest to highest)."
    )
    text = f"{table.to_markdown(index=False, disable_numparse=True)}\n\n{about}\n"
    if args.output:
        write_text(args.output, text)
    return text
