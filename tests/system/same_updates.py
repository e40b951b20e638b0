"""Trains every kind of model with the code of another commit and with this one, and compares what
they write, bit for bit.

Prints a table, and ends with code 1 when anything differs.
"""

import argparse
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from nmt import command
from nmt.configuration import lookup
from nmt.errors import UserError
from tests.support.families import FAMILIES
from tests.support.files import ROOT
from tests.support.killed_trainings import Trainings
from tests.system.resume_matrix import SHORT, add_experiments

PRECISIONS = ("float32", "bfloat16")
SHORTER = SHORT | {"updates": 20, "interval": 10, "bleu_interval": 20}


def main(args: argparse.Namespace) -> int:
    for family in args.families:
        lookup(FAMILIES, family, "family")
    families = args.families or FAMILIES
    cases = [(family, precision) for family in families for precision in PRECISIONS]
    all_equal = True
    with tempfile.TemporaryDirectory() as temporary, ThreadPoolExecutor(args.jobs) as pool:
        folder = Path(temporary)
        extract(args.commit, folder / "code")
        before = Trainings(folder / args.commit, folder / "code", **SHORTER)
        now = Trainings(folder / "now", ROOT, **SHORTER)
        for trainings in (before, now):
            add_experiments(trainings.folder, cases)
        print("| family | precision | outcome |\n|---|---|---|")
        rows = pool.map(lambda case: compared(before, now, "-".join(case)), cases)
        for (family, precision), outcome in zip(cases, rows, strict=True):
            print(f"| {family} | {precision} | {outcome} |", flush=True)
            all_equal &= outcome == "equal"
    print("\nAll is equal." if all_equal else "\nSomething differs.")
    return int(not all_equal)


def extract(commit: str, folder: Path) -> None:
    """Write the files of a commit into a folder."""
    folder.mkdir()
    archive = subprocess.run(
        ["git", "-C", ROOT, "archive", commit], capture_output=True, check=False
    )
    if archive.returncode:
        raise UserError(f"git knows no commit {commit}: name one of this repository.")
    subprocess.run(["tar", "-x", "-C", folder], input=archive.stdout, check=True)


def compared(before: Trainings, now: Trainings, row: str) -> str:
    """Train a row with both; return "equal" or what differs."""
    for trainings in (before, now):
        try:
            trainings.run(row)
        except AssertionError as error:
            print(f"{row}: {error}", file=sys.stderr)
            return f"DOES NOT TRAIN: {trainings.folder.name}"
    one, other = before.reference[row], now.reference[row]
    different = sorted(name for name in one | other if one.get(name) != other.get(name))
    return ", ".join(different) or "equal"


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("commit", metavar="COMMIT", help="whose code is compared with this one")
    parser.add_argument(
        "families",
        nargs="*",
        metavar="FAMILY",
        help="of tests/support/families.py; without any, all of them",
    )
    parser.add_argument("--jobs", type=command.whole_number(1), default=2)
    command.run(main, parser)
