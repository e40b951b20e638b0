"""Compares what `snakemake plan` predicts with what trainings took, on a machine that does nothing
else.

Trains all rows of reproductions anew, for a few updates each, in a folder of their own; then plans
them there, and prints predicted and measured seconds. Intervals shrink with the updates, so that
evaluation would take most of the time: --interval sets how often the dev set's loss and BLEU are
measured. Ends with code 1 when a prediction differs by more than 20%.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tabulate import tabulate

from nmt import command
from nmt.configuration import load_reproduction, read_yaml
from nmt.errors import UserError
from nmt.planning.plan import plan
from tests.support.files import ROOT

ALLOWED = 0.2


def main(args: argparse.Namespace) -> int:
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        for configuration in args.configurations:
            rows += compare(Path(temporary), configuration.resolve(), args)
    for row in rows:
        row.append(row[3] / row[2])
    headers = [
        "reproduction",
        "experiment",
        "measured (s)",
        "predicted (s)",
        "predicted / measured",
    ]
    print(tabulate(rows, headers, tablefmt="github", floatfmt=".3g"))
    return int(any(abs(row[-1] - 1) > ALLOWED for row in rows))


def compare(folder: Path, configuration: Path, args: argparse.Namespace) -> list[list]:
    """Train and plan a reproduction's rows in `folder`; return names, measured and predicted."""
    options = ["--configfile", configuration, "--directory", folder, "--cores", args.devices]
    values = {"updates": args.updates, "catalog": str(ROOT / "config")}
    if args.interval:
        values |= {"interval": args.interval, "bleu_interval": args.interval}
    overrides = ["--config", *(f"{key}={value}" for key, value in values.items())]
    process = subprocess.run(
        [sys.executable, "-m", "snakemake", *map(str, options), *overrides, "--until", "train"],
        cwd=ROOT,
        stdout=sys.stderr,
    )
    if process.returncode:
        raise UserError(f"{configuration} was not trained: see above.")
    reproduction, catalog = load_reproduction(
        read_yaml(configuration, dict) | values, str(configuration)
    )
    tables = [name for name, table in reproduction.tables.items() if not table.on_request]
    trainings = plan(
        reproduction,
        catalog,
        tables,
        folder / "results" / "runs",
        gpu=None,
        seconds=args.seconds,
        threads=1,
        workers=args.devices,
    )
    return [
        [
            reproduction.name,
            training.name,
            sum(training.measured) / len(training.measured),
            training.seconds,
        ]
        for training in trainings
    ]


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("configurations", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--updates", type=command.whole_number(1), default=100)
    parser.add_argument("--interval", type=command.whole_number(1), help="in updates")
    parser.add_argument("--seconds", type=command.number(0), default=60, help="of calibration")
    parser.add_argument(
        "--devices", type=command.whole_number(1), default=os.cpu_count(), help="side by side"
    )
    command.run(main, parser)
