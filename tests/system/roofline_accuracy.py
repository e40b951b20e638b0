"""Compares the roofline's predictions with updates on this machine, which must do nothing else.

Prints predicted and measured seconds of an update for each experiment, and ends with code 1 when a
prediction differs by more than 25%.
"""

import argparse
from pathlib import Path

import torch
from tabulate import tabulate

from nmt import command
from nmt.configuration import load_catalog
from nmt.planning.calibration import time_training
from nmt.planning.roofline import predict_training
from nmt.planning.texts import Texts
from nmt.planning.this_cpu import this_cpu
from nmt.training.distributed import ProcessGroup
from tests.support.files import ROOT

ALLOWED = 0.25


def main(args: argparse.Namespace) -> int:
    torch.set_num_threads(args.threads)
    catalog = load_catalog(args.catalog)
    device = this_cpu()
    print(device)
    rows = []
    for name in args.experiments:
        experiment = catalog.experiment(name)
        texts = Texts(Path("made"), (args.vocabulary, args.vocabulary), 100)
        prediction = predict_training(experiment, texts, device)
        group = ProcessGroup(torch.device("cpu"))
        measured = time_training(experiment, texts, args.seconds, group)[0]
        ratio = prediction.seconds / measured
        rows.append([name, measured, prediction.seconds, ratio, prediction.bound])
    headers = ["experiment", "measured (s)", "predicted (s)", "predicted / measured", "bound by"]
    print(tabulate(rows, headers, tablefmt="github", floatfmt=".3g"))
    return int(any(abs(row[3] - 1) > ALLOWED for row in rows))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("experiments", nargs="+", metavar="NAME")
    parser.add_argument("--catalog", type=Path, default=ROOT / "config", metavar="FOLDER")
    parser.add_argument("--vocabulary", type=command.whole_number(8), default=8000)
    parser.add_argument("--seconds", type=command.number(0), default=20, help="of each experiment")
    parser.add_argument("--threads", type=command.whole_number(1), default=2)
    command.run(main, parser)
