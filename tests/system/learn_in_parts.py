"""Losses of updates in float64, learned by one process or by several."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch

from nmt.configuration import Training
from nmt.data.batches import Batches, Partition
from nmt.data.tokens import ParallelTokens
from nmt.training.distributed import ProcessGroup, process_group
from nmt.training.trainer import Trainer
from tests.support.families import parallel_tokens, random_model
from tests.support.files import ROOT

KINDS = ("transformer", "decoder-only", "moe")  # of families: a loss of both sides, one of batches
PARTS = 4  # of every update's batch
UPDATES = 20  # more than two epochs
SOURCE_LOSS = {"decoder-only": [[0, 1.0], [UPDATES, 0.0]]}  # a weight that changes meanwhile


def together(processes: int) -> list[str]:
    """Return the command that starts a program in so many processes."""
    return ["sh", str(ROOT / "workflow" / "launch.sh"), str(processes), "1", "1"]


def losses(processes: int) -> dict[str, list[float]]:
    """Return the losses of KINDS by update: this script is started, alone or by torchrun."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "losses.json"
        paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
        environment = os.environ | {"PYTHONPATH": paths}
        command = [*together(processes), __file__, output]
        subprocess.run(command, env=environment, check=True, capture_output=True)
        return json.loads(output.read_text())


def learn(family: str, group: ProcessGroup) -> list[float]:
    """Return the loss of a target token at each update."""
    training = Training(
        updates=UPDATES,
        batch_tokens=120,
        micro_batches=2,
        warmup=1,
        interval=UPDATES,
        source_loss=SOURCE_LOSS.get(family, []),
    )
    trainer = Trainer(random_model(family), training, group, seed=1)
    chunks = PARTS // training.micro_batches
    partition = Partition(group.rank, group.world_size, chunks)
    batches = Batches.for_training(sentences(), training, seed=1)
    stream = batches.stream(1, 0, partition, group.device)
    losses = []
    for update in range(1, UPDATES + 1):
        trainer.train_step(next(stream), 0.01, update)
        loss, _, tokens = group.sum(trainer.sums).tolist()
        trainer.sums.zero_()
        losses.append(loss / tokens)
    return losses


def sentences() -> ParallelTokens:
    """Return sentences of 1 to 50 tokens: some batches have fewer of them than there are parts."""
    random = np.random.default_rng(1)
    lengths = np.concatenate([random.integers(1, 12, 60), [35, 50]])
    return parallel_tokens(lengths, np.minimum(lengths + random.integers(0, 3, 62), 50))


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    with process_group() as group:
        learned = {family: learn(family, group) for family in KINDS}
        if group.is_main:
            Path(sys.argv[1]).write_text(json.dumps(learned))
