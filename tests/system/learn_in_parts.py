"""Losses of 50 updates in float64, learned by one process or by several."""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch

from nmt.configuration import Training
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.training.distributed import ProcessGroup, process_group
from nmt.training.trainer import Trainer
from tests.support.families import random_model
from tests.support.files import ROOT

MODULE = ("-m", "tests.system.learn_in_parts")
UPDATES = 50
SOURCE_LOSS = {"decoder-only": [[0, 1.0], [UPDATES, 0.0]]}  # a weight that changes meanwhile


def torchrun(processes: int) -> list[str]:
    return [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--standalone",
        f"--nproc-per-node={processes}",
        # SIGUSR1 too, which would end torchrun alone and leave the processes running
        "--signals-to-handle=SIGTERM,SIGINT,SIGHUP,SIGQUIT,SIGUSR1",
    ]


def losses(
    processes: int, micro_batches: int, families: Iterable[str], updates: int = UPDATES
) -> dict[str, list[float]]:
    """Return each family's loss at each update, for batches in so many micro-batches.

    This script is started, alone or by torchrun.
    """
    started = torchrun(processes) if processes > 1 else [sys.executable]
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "losses.json"
        arguments = [
            f"--micro-batches={micro_batches}",
            f"--updates={updates}",
            f"--output={output}",
            "--families",
            *families,
        ]
        subprocess.run([*started, *MODULE, *arguments], cwd=ROOT, check=True, capture_output=True)
        return json.loads(output.read_text())


def main(args: argparse.Namespace) -> None:
    torch.set_default_dtype(torch.float64)
    with process_group() as group:
        by_family = {
            family: learn(family, args.micro_batches, args.updates, group)
            for family in args.families
        }
        if group.is_main:
            args.output.write_text(json.dumps(by_family))


def learn(family: str, micro_batches: int, updates: int, group: ProcessGroup) -> list[float]:
    """The loss of a target token at each update."""
    source_loss = SOURCE_LOSS.get(family, [])
    settings = {
        "updates": updates,
        "batch_tokens": 120,
        "micro_batches": 2,
        "warmup": 1,
        "interval": updates,
    }
    training = Training(**settings, source_loss=source_loss)
    trainer = Trainer(random_model(family), training, group, seed=1)
    chunks = micro_batches // training.micro_batches
    partition = Partition(group.rank, group.world_size, chunks)
    batches = Batches.for_training(sentences(), training, seed=1)
    stream = batches.stream(1, 0, partition, group.device)
    losses = []
    for update in range(1, updates + 1):
        trainer.train_step(next(stream), 0.01, update)
        loss, _, tokens = group.sum(trainer.sums).tolist()
        trainer.sums.zero_()
        losses.append(loss / tokens)
    return losses


def sentences() -> ParallelTokens:
    """Return sentences of 1 to 50 tokens: some batches have fewer of them than there are parts."""
    random = np.random.default_rng(1)

    def side(lengths: np.ndarray) -> Ragged:
        return Ragged(
            random.integers(4, 23, lengths.sum()), np.concatenate([[0], lengths.cumsum()])
        )

    lengths = np.concatenate([random.integers(1, 12, 60), [35, 50]])
    return ParallelTokens(
        side(lengths), side(np.minimum(lengths + random.integers(0, 3, 62), 50)), {}
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--families", nargs="+", required=True)
    parser.add_argument("--micro-batches", type=int, required=True)
    parser.add_argument("--updates", type=int, default=UPDATES)
    parser.add_argument("--output", type=Path, required=True)
    main(parser.parse_args())
