"""Times how long commands take to start, on this machine, which must do nothing else.

Prints medians of several starts: of translate.py to its first line, and of a dry-run of the largest
reproduction, each with the part that their libraries take.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from tabulate import tabulate

from nmt import command
from tests.support.files import ROOT

SENTENCE = b"A man is riding a bike.\n"
SNAKEMAKE = Path(sys.executable).with_name("snakemake")


def first_line(model: Path) -> None:
    """Translate a sentence, and wait for its translation alone."""
    translate = [sys.executable, ROOT / "src" / "translate.py", "--model", model]
    with subprocess.Popen(translate, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(SENTENCE)
        process.stdin.flush()
        assert process.stdout.readline()
        process.kill()


def run(*arguments: object) -> None:
    """Run a command to its end."""
    subprocess.run(list(map(str, arguments)), cwd=ROOT, check=True, capture_output=True)


def main(args: argparse.Namespace) -> None:
    dry_run = (SNAKEMAKE, "--cores", 1, "--dry-run", "--configfile", "config/wmt14-en-de.yaml")
    starts = {
        "translate.py, first line": lambda: first_line(args.model),
        "import torch": lambda: run(sys.executable, "-c", "import torch"),
        "snakemake --dry-run, WMT14 EN-DE": lambda: run(*dry_run),
        "snakemake --version": lambda: run(SNAKEMAKE, "--version"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in starts}
    for _ in range(args.rounds):
        for name, start in starts.items():
            began = time.perf_counter()
            start()
            seconds[name].append(time.perf_counter() - began)
    rows = [(name, float(np.median(times))) for name, times in seconds.items()]
    print(tabulate(rows, ["start", "seconds"], tablefmt="github", floatfmt=".2f"))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("model", type=Path, metavar="MODEL", help="the folder of a model")
    parser.add_argument("--rounds", type=command.whole_number(1), default=5)
    command.run(main, parser)
