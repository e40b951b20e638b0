"""Measure how a training begins: tokens opened and checked, an epoch's order, the first batch.

Prints seconds and megabytes of each as JSON; megabytes are those allocated at most meanwhile, the
step's result included. benchmark_text.py has them in its table.
"""

import argparse
import json
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from nmt import command
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.data.tokens import ParallelTokens, fingerprint

BUDGET, PER_UPDATE = 3125, 8  # of AIAYN's base model: 25,000 tokens an update


def main(args: argparse.Namespace) -> None:
    """Take the steps in order and print their costs."""
    costs: dict[str, dict[str, float]] = {}

    @contextmanager
    def measured(step: str) -> Iterator[None]:
        tracemalloc.start()
        began = time.monotonic()
        yield
        seconds = time.monotonic() - began
        costs[step] = {"seconds": seconds, "megabytes": tracemalloc.get_traced_memory()[1] / 1e6}
        tracemalloc.stop()

    with measured("open"):
        tokens = ParallelTokens.load(args.tokens, check=False)
        batches = Batches(tokens, BUDGET, seed=1, per_update=PER_UPDATE)
    with measured("check"):
        fingerprint(args.tokens)
    with measured("order of an epoch"):
        updates = batches.epoch(1)
    with measured("first batch"):
        batches.update_batch(1, 0, updates[0], Partition(0, 1, 1), torch.device("cpu"))
    print(json.dumps(costs))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--tokens", type=Path, required=True, metavar="FOLDER")
    command.run(main, parser)
