"""How fast an experiment trains: updates of its own batches, timed as training makes them."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import torch

from nmt.configuration import Experiment
from nmt.data.batch import UpdateBatch
from nmt.data.batches import Batches
from nmt.data.tokens import ParallelTokens
from nmt.models.build import build
from nmt.models.flops import multiply_adds, training_flops
from nmt.training.distributed import ProcessGroup
from nmt.training.machine import partition_for
from nmt.training.trainer import Trainer

# Updates in which memory is allocated and kernels are chosen, on a GPU for batches of each shape
WARM_UP = {"cpu": 3, "cuda": 60}


@dataclass(frozen=True)
class Speed:
    """What updates learned from, EOS counted and padding not, and the seconds that they took."""

    updates: int
    seconds: float
    sentences: int
    source_tokens: int
    target_tokens: int

    def flops(self, experiment: Experiment, tokens: ParallelTokens) -> float:
        """Return the FLOPs in which an experiment trains on the same sentences of these tokens."""
        counts = multiply_adds(build(experiment.model, *tokens.meta["vocabulary_sizes"]))
        return training_flops(counts, self.sentences, self.source_tokens, self.target_tokens)


def measure(
    experiment: Experiment, tokens: ParallelTokens, device: torch.device, updates: int = 20
) -> Speed:
    """Train a new model, whose weights and batches are the same in every call, and time it."""
    torch.manual_seed(1)
    model = build(experiment.model, *tokens.meta["vocabulary_sizes"]).to(device)
    group = ProcessGroup(device)
    batches = Batches.for_training(tokens, experiment.training, seed=1)
    partition = partition_for(batches, experiment, group)
    trainer = Trainer(model, experiment.training, group, 1, packed=bool(partition.packing))
    stream = batches.stream(1, 0, partition, device)
    return timed(lambda batch, n: trainer.train_step(batch, 1e-4, n), stream, device, updates)


def timed(
    train_step: Callable[[UpdateBatch, int], None],
    batches: Iterator[UpdateBatch],
    device: torch.device,
    updates: int,
) -> Speed:
    """Time updates after a warm-up: so many, or those that begin within a minute."""
    measured: list[UpdateBatch] = []
    warm_up = WARM_UP[device.type]
    for number, batch in enumerate(islice(batches, warm_up + updates), start=1):
        train_step(batch, number)
        if number <= warm_up:
            begun = now(device)
        else:
            measured.append(batch)
            if time.perf_counter() - begun > 60:
                break
    return Speed(
        updates=len(measured),
        seconds=now(device) - begun,
        sentences=sum(len(batch.sentences) for batch in measured),
        source_tokens=sum(batch.source_tokens for batch in measured),
        target_tokens=sum(batch.target_tokens for batch in measured),
    )


def now(device: torch.device) -> float:
    """Return the time in seconds when the device has done all work that was begun."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
