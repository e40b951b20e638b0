"""Kills trainings of every kind of model in every precision, resumes them, and compares with
uninterrupted ones.

Prints a table, a row when its three kill points are done, and ends with code 1 when anything
differs.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nmt import command
from nmt.configuration import GNMT, Seq2Seq, lookup
from tests.support import tiny_training
from tests.support.families import FAMILIES
from tests.support.killed_trainings import KILL, TERM, Point, Trainings

PRECISIONS = ("float32", "bfloat16", "float16")
POINTS = [
    Point("SIGTERM", TERM, update=20),
    Point("SIGKILL", KILL, update=40),
    Point("SIGKILL as the state is written", KILL, at="before state.safetensors"),
]
SHORT = {
    "updates": 60,
    "interval": 20,
    "bleu_interval": 60,
    "average": 2,
    "batch_tokens": 400,
    "micro_batches": 2,
}


def main(args: argparse.Namespace) -> int:
    for family in args.families:
        lookup(FAMILIES, family, "family")
    print(f"| family | precision | {' | '.join(point.name for point in POINTS)} |")
    print(f"|---|---|{'---|' * len(POINTS)}")
    began, equal = time.monotonic(), True
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(2) as pool:
        trainings = Trainings(Path(temporary), **SHORT)
        cases = cases_of(args.families or FAMILIES)
        add_experiments(trainings.folder, cases)
        rows = pool.map(lambda case: interrupted(trainings, "-".join(case)), cases)
        for (family, precision), outcomes in zip(cases, rows, strict=True):
            print(f"| {family} | {precision} | {' | '.join(outcomes)} |", flush=True)
            equal &= set(outcomes) == {"equal"}
    print(
        f"\n{time.monotonic() - began:.0f} s. "
        + ("All is equal." if equal else "Something differs.")
    )
    return int(not equal)


def cases_of(families: Iterable[str]) -> list[tuple[str, str]]:
    """Return families and precisions; torch has no LSTM in float16 on a CPU."""
    return [
        (family, precision)
        for family in families
        for precision in PRECISIONS
        if precision != "float16" or not isinstance(FAMILIES[family], Seq2Seq | GNMT)
    ]


def add_experiments(folder: Path, cases: list[tuple[str, str]]) -> None:
    """Add an experiment FAMILY-PRECISION to the folder's catalog for each family and precision."""
    entries = {}
    for family, precision in cases:
        settings = FAMILIES[family]
        changes = settings.model_dump(exclude_defaults=True) | {
            "base": "tiny",
            "title": family,
            "family": settings.family,
            "dropout": settings.dropout,
            "precision": precision,
        }
        if "max_positions" in changes:
            changes["max_positions"] = 256  # the text has longer sentences than other tests have
        entries[f"{family}-{precision}"] = changes
    tiny_training.change_several(folder, entries)


def interrupted(trainings: Trainings, row: str) -> list[str]:
    try:
        trainings.run(row)
    except AssertionError as error:
        print(f"{row}: {error}", file=sys.stderr)
        return ["DOES NOT TRAIN"] * len(POINTS)
    outcomes = []
    for number, point in enumerate(POINTS):
        _, ended, _, equal = trainings.interrupted(row, number, point)
        outcomes.append("NOT KILLED" if ended == 0 else "equal" if equal else "DIFFERS")
    return outcomes


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "families",
        nargs="*",
        metavar="FAMILY",
        help="of tests/support/families.py; without any, all of them",
    )
    command.run(main, parser)
