"""The speed of training on this machine: tokens per second, and where the time goes."""

import argparse
import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import torch

from nmt import command
from nmt.configuration import Experiment
from nmt.data.batch import UpdateBatch
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.data.tokens import ParallelTokens
from nmt.models.build import build
from nmt.training.distributed import ProcessGroup
from nmt.training.machine import Machine, least_tokens
from nmt.training.schedule import source_weight
from nmt.training.trainer import Trainer

Result = TypeVar("Result")
# Not measured: in the first updates memory is allocated and kernels are chosen
WARM_UP_UPDATES = 2


@dataclass(frozen=True)
class Speed:
    """The speed of training, with the time of each phase in milliseconds for 1,000 target tokens.

    padding: of a whole epoch. memory: in bytes. data: making the batch, which real training does
    during the update before. backward: clipping included.
    """

    target_tokens_per_second: float
    padding: float
    mfu: float
    memory: int
    data: float
    forward: float
    backward: float
    optimizer: float


def measure(
    experiment: Experiment, tokens: ParallelTokens, seconds: float, group: ProcessGroup
) -> Speed:
    """Train a new model on the real batches of an epoch for this many seconds.

    Batches and initial weights are the same in every call.
    """
    torch.manual_seed(1)
    model = build(experiment.model, *tokens.meta["vocabulary_sizes"])
    settings = experiment.training
    device = group.device
    machine = Machine.of(device, experiment, model)
    trainer = Trainer(model.to(device), settings, group, seed=1)
    least = least_tokens(device, experiment.model)
    partition = Partition.coarsest(settings, group.rank, group.world_size, least_tokens=least)
    batches = Batches.for_training(tokens, settings, seed=1)
    updates = batches.updates(1, 0, partition, device)
    clock = Clock(device)
    numbers = itertools.count(1)

    measured = repeat(
        lambda: timed_update(trainer, updates, clock, next(numbers)), seconds, group.any
    )
    total_seconds = {
        name: sum(update_seconds[name] for _, update_seconds in measured) for name in clock.seconds
    }
    target_tokens = sum(batch.target_tokens for batch, _ in measured)
    source_too = source_weight(1, settings.source_loss) > 0
    flops = sum(machine.flops(batch, source_too) for batch, _ in measured)
    phases = {
        phase: 1e6 * total_seconds[phase] / target_tokens
        for phase in ("data", "forward", "backward", "optimizer")
    }
    return Speed(
        target_tokens_per_second=target_tokens / total_seconds["whole"],
        padding=batches.padding(),
        mfu=flops / total_seconds["whole"] / machine.peak / group.world_size,
        memory=machine.memory(),
        **phases,
    )


def arguments(description: str) -> argparse.ArgumentParser:
    """Return a parser of the arguments that measure_training and measure_peer share."""
    parser = command.arguments(description)
    command.add_experiment(parser)
    parser.add_argument(
        "--tokens", type=Path, required=True, metavar="FOLDER", help="the training set, binarized"
    )
    parser.add_argument("--seconds", type=command.number(0), default=10)
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    return parser


def repeat(
    update: Callable[[], Result],
    seconds: float,
    any_rank: Callable[[bool], list[bool]] = lambda ended: [ended],
) -> list[Result]:
    """Call `update` for this many seconds, at least once, and return what the calls return.

    Calls of a warm-up come first; their results are left out. Ranks that train together stop
    together, when the first has trained for this long: `any_rank` returns whether its argument is
    true on any rank.
    """
    for _ in range(WARM_UP_UPDATES):
        update()
    results: list[Result] = []
    end = time.monotonic() + seconds
    while not results or not any_rank(time.monotonic() >= end)[0]:
        results.append(update())
    return results


def timed_update(
    trainer: Trainer, updates: Iterator[UpdateBatch], clock: "Clock", number: int
) -> tuple[UpdateBatch, dict[str, float]]:
    """Train on the next batch; return it and the seconds of the update and of its phases."""
    with clock.timed("data"):
        batch = next(updates)
    # Added up over all micro-batches
    clock.seconds["forward"] = 0.0
    clock.seconds["optimizer"] = 0.0
    with clock.timed("whole"), clock.phases_timed(trainer):
        trainer.train_step(batch, learning_rate=1e-4, update=number)
        trainer.pop_gradient_norms()
    seconds = clock.seconds
    # Clipping waits for the backward pass and is counted as part of it.
    seconds["backward"] = seconds["whole"] - seconds["forward"] - seconds["optimizer"]
    return batch, dict(seconds)


class Clock:
    """Seconds by name; a GPU is waited for whenever the time is taken."""

    def __init__(self, device: torch.device):
        self.device = device
        self.seconds: dict[str, float] = {}

    def now(self) -> float:
        """Return the time in seconds when the device has done all work that was begun."""
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        """Return a context whose seconds are kept under a name."""
        start = self.now()
        yield
        self.seconds[name] = self.now() - start

    @contextmanager
    def phases_timed(self, trainer: Trainer) -> Iterator[None]:
        """Return a context in which seconds of forward passes and optimizer steps are added up."""
        starts = {}

        def start(name: str) -> Callable[..., None]:
            def hook(*_: object) -> None:
                starts[name] = self.now()

            return hook

        def stop(name: str) -> Callable[..., None]:
            def hook(*_: object) -> None:
                self.seconds[name] += self.now() - starts[name]

            return hook

        handles = [
            trainer.objective.register_forward_pre_hook(start("forward")),
            trainer.objective.register_forward_hook(stop("forward")),
            trainer.optimizer.register_step_pre_hook(start("optimizer")),
            trainer.optimizer.register_step_post_hook(stop("optimizer")),
        ]
        yield
        for handle in handles:
            handle.remove()
