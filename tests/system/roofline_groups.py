"""Predicts updates in groups of sentences, by the least tokens of a group: its choice for GPUs.

Prints target tokens a second of the paper's models on GPUs that need not be here, of the first
updates of an epoch of synthetic sentences, which have the lengths of news.
"""

import argparse
from itertools import islice
from pathlib import Path
from unittest import mock

from tabulate import tabulate

from nmt import command
from nmt.configuration import load_catalog
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.planning import kernels
from nmt.planning.meta import META
from nmt.planning.roofline import GPUS, predict
from nmt.planning.texts import Texts
from tests.support.files import ROOT

SIZES = (37_000, 37_000)


def main(args: argparse.Namespace) -> None:
    catalog = load_catalog(ROOT / "config")
    texts = Texts(Path("made"), SIZES, 256)
    experiments = {name: catalog.experiment(name) for name in args.experiments}
    rows = []
    for least in args.least_tokens:
        training = next(iter(experiments.values())).training
        batches = Batches.for_training(texts.load("train"), training, seed=1)
        stream = batches.updates(1, 0, Partition(least_tokens=least), META)
        updates = list(islice(stream, args.updates))
        real = sum(update.source_tokens + update.target_tokens for update in updates)
        padding = 1 - real / sum(update.padded_tokens for update in updates)
        row = [least, sum(len(update.micro_batches) for update in updates) / len(updates), padding]
        for experiment in experiments.values():
            counts = [kernels.count_update(experiment, SIZES, update) for update in updates]
            tokens = sum(count.target_tokens for count in counts)
            for gpu in GPUS.values():
                row.append(tokens / sum(predict(count, gpu).seconds for count in counts))
        rows.append(row)
    names = [f"{name}, {gpu}" for name in experiments for gpu in GPUS]
    headers = ["least tokens", "micro-batches", "padding", *names]
    print(tabulate(rows, headers, tablefmt="github", floatfmt=",.2f"))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("experiments", nargs="+", metavar="NAME")
    parser.add_argument("--updates", type=command.whole_number(1), default=4)
    parser.add_argument("--least-tokens", nargs="+", type=int, default=[0, 8192, 16384])
    with mock.patch.object(kernels, "MOST_COUNTED", 1000):
        command.run(main, parser)
