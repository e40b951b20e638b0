"""How fast a row trains here: tokens a second, and where the time goes."""

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
from nmt.data.batches import Batches, Partition, UpdateBatch
from nmt.data.tokens import ParallelTokens
from nmt.models.build import build
from nmt.training.distributed import ProcessGroup
from nmt.training.machine import Machine
from nmt.training.schedule import source_weight
from nmt.training.trainer import Trainer

Result = TypeVar("Result")
UPDATES_BEFORE = 5  # memory is found and kernels are chosen in the first ones


@dataclass(frozen=True)
class Speed:
    """Phases in milliseconds for 1,000 target tokens, memory in bytes; data is made meanwhile when
    training is real.

    Padding is of a whole epoch.
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
    """Train on real batches of a new epoch for so many seconds; always the same batches and weights."""
    torch.manual_seed(1)
    model = build(experiment.model, *tokens.meta["vocabulary_sizes"])
    settings, device = experiment.training, group.device
    machine = Machine.of(device, experiment, model)
    trainer = Trainer(model.to(device), settings, group, seed=1)
    partition = Partition.coarsest(settings, group.rank, group.world_size)
    batches = Batches.for_training(tokens, settings, seed=1)
    updates = batches.updates(1, 0, partition, device)
    clock = Clock(device)

    numbers = itertools.count(1)
    lines = repeated(lambda: update(trainer, updates, clock, next(numbers)), seconds, group.any)
    seen = [line["batch"] for line in lines]
    source_too = source_weight(1, settings.source_loss) > 0
    spent = {name: sum(line[name] for line in lines) for name in clock.seconds}
    target_tokens = sum(batch.target_tokens for batch in seen)
    return Speed(
        target_tokens_per_second=target_tokens / spent["whole"],
        padding=batches.padding(),
        mfu=sum(machine.flops(batch, source_too) for batch in seen)
        / spent["whole"]
        / machine.peak
        / group.world_size,
        memory=machine.memory(),
        **{
            phase: 1e6 * spent[phase] / target_tokens
            for phase in ("data", "forward", "backward", "optimizer")
        },
    )


def arguments(description: str) -> argparse.ArgumentParser:
    """What the scripts share that measure once."""
    parser = command.arguments(description)
    parser.add_argument("--catalog", type=Path, default=Path("config"), metavar="FOLDER")
    parser.add_argument(
        "--experiment", required=True, metavar="NAME", help="an entry of experiments.yaml"
    )
    parser.add_argument(
        "--tokens", type=Path, required=True, metavar="FOLDER", help="the training set, binarized"
    )
    parser.add_argument("--seconds", type=command.number(0), default=10)
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    return parser


def repeated(
    update: Callable[[], Result],
    seconds: float,
    any_rank: Callable[[bool], list[bool]] = lambda ended: [ended],
) -> list[Result]:
    """What calls return for so many seconds, at least one; those of a warm-up before are left out.

    Ranks that train together stop together, when the first has trained for so long.
    """
    for _ in range(UPDATES_BEFORE):
        update()
    results, end = [], time.monotonic() + seconds
    while not results or not any_rank(time.monotonic() >= end)[0]:
        results.append(update())
    return results


def update(trainer: Trainer, updates: Iterator[UpdateBatch], clock: "Clock", number: int) -> dict:
    with clock.timed("data"):
        batch = next(updates)
    clock.seconds |= {"forward": 0.0, "optimizer": 0.0}  # to be added up, of all micro-batches
    with clock.timed("whole"), clock.inside(trainer):
        trainer.train_step(batch, learning_rate=1e-4, update=number)
        trainer.outcomes()
    seconds = clock.seconds
    # Clipping is counted as part of the backward pass, which it waits for.
    seconds["backward"] = seconds["whole"] - seconds["forward"] - seconds["optimizer"]
    return {"batch": batch, **seconds}


class Clock:
    """Seconds by name; on a GPU each time is taken when all that was begun is done."""

    def __init__(self, device: torch.device):
        self.device, self.seconds = device, {}

    def now(self) -> float:
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)
        return time.perf_counter()

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        begun = self.now()
        yield
        self.seconds[name] = self.now() - begun

    @contextmanager
    def inside(self, trainer: Trainer) -> Iterator[None]:
        """Times the forward pass and the optimizer's step of what is run meanwhile."""
        begun = {}

        def begin(name: str):
            return lambda *_: begun.update({name: self.now()})

        def end(name: str):
            def add(*_: object) -> None:
                self.seconds[name] += self.now() - begun[name]

            return add

        hooks = [
            trainer.objective.register_forward_pre_hook(begin("forward")),
            trainer.objective.register_forward_hook(end("forward")),
            trainer.optimizer.register_step_pre_hook(begin("optimizer")),
            trainer.optimizer.register_step_post_hook(end("optimizer")),
        ]
        yield
        for hook in hooks:
            hook.remove()
