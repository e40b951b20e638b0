"""How long trainings take on this machine, from a few updates of each."""

import multiprocessing
import time
from dataclasses import dataclass

import numpy as np
import torch

from nmt.configuration import Decoding, Experiment
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.decoding.translator import translate_tokens
from nmt.device import choose_device
from nmt.models.build import build
from nmt.planning.texts import Texts, middle
from nmt.training.distributed import ProcessGroup
from nmt.training.machine import least_tokens
from nmt.training.trainer import Trainer
from nmt.training.validation import dev_nll

# A large update is timed by its first micro-batches alone, up to this many tokens.
TOKENS_AT_A_TIME = 4096
DEV_SENTENCES = 128
WARM_UP_UPDATES = 2


@dataclass(frozen=True)
class Seconds:
    """Seconds of one update, of one measurement of the dev set's loss, and of one of its BLEU."""

    update: float
    loss: float
    bleu: float

    def of_training(self, experiment: Experiment) -> float:
        """Return the seconds of a whole training."""
        settings = experiment.training
        losses = -(-settings.updates // settings.interval)
        bleus = settings.updates // settings.bleu_interval if settings.bleu_interval else 0
        return settings.updates * self.update + losses * self.loss + bleus * self.bleu


def calibrate(
    trainings: list[tuple[Experiment, Texts]], seconds: float, threads: int, workers: int
) -> list[Seconds]:
    """Return the seconds of each training, from about so many seconds of work.

    As many workers go side by side as trainings will, on so many threads each. All time all
    trainings, each beginning with another one, and means are taken.
    """
    share = seconds / len(trainings)
    starts = [worker * len(trainings) // workers for worker in range(workers)]
    calls = [(trainings[start:] + trainings[:start], share, threads) for start in starts]
    if workers == 1:
        rotated = [time_all(*calls[0])]
    else:
        with multiprocessing.get_context("spawn").Pool(workers) as pool:
            rotated = pool.starmap(time_all, calls, chunksize=1)
    timed = [
        times[len(trainings) - start :] + times[: len(trainings) - start]
        for start, times in zip(starts, rotated, strict=True)
    ]
    return [Seconds(*np.mean(times, axis=0).tolist()) for times in zip(*timed, strict=True)]


def time_all(
    trainings: list[tuple[Experiment, Texts]], seconds: float, threads: int
) -> list[tuple[float, float, float]]:
    """Return the fields of Seconds for each training, each timed for so many seconds."""
    torch.set_num_threads(threads)
    group = ProcessGroup(choose_device())
    return [time_training(experiment, texts, seconds, group) for experiment, texts in trainings]


def time_training(
    experiment: Experiment, texts: Texts, seconds: float, group: ProcessGroup
) -> tuple[float, float, float]:
    """Return the seconds of an update, of the dev set's loss, and of its translation."""
    train = texts.load("train")
    settings = experiment.training
    micro_batches = settings.micro_batches
    of_a_micro_batch = settings.batch_tokens // micro_batches
    least = least_tokens(group.device, experiment.model)
    # A GPU takes several micro-batches as one: whole updates are timed there.
    few = micro_batches if least else TOKENS_AT_A_TIME // of_a_micro_batch
    count = max(1, min(micro_batches, few))
    part = settings.model_copy(
        update={"batch_tokens": count * of_a_micro_batch, "micro_batches": count}
    )
    torch.manual_seed(1)
    model = build(experiment.model, *train.meta["vocabulary_sizes"])
    trainer = Trainer(model.to(group.device), part, group, seed=1)
    partition = Partition(least_tokens=least)
    updates = Batches.for_training(train, part, seed=1).updates(1, 0, partition, group.device)

    times: list[float] = []
    while len(times) <= WARM_UP_UPDATES or sum(times[WARM_UP_UPDATES:]) < seconds:
        batch = next(updates)  # made in a thread by real training
        start = time.perf_counter()
        trainer.train_step(batch, learning_rate=1e-4, update=len(times) + 1)
        trainer.pop_gradient_norms()
        times.append(time.perf_counter() - start)
    update = float(np.mean(times[WARM_UP_UPDATES:])) * micro_batches / count

    whole = texts.load("dev")
    dev = middle(whole, DEV_SENTENCES)
    share = len(whole) / len(dev)
    start = time.perf_counter()
    dev_nll(model, Batches.for_evaluation(dev), part, group)
    loss = share * (time.perf_counter() - start)
    start = time.perf_counter()
    sources = dev.source.lists()
    # An untrained model does not know where to end: its translations get a trained one's length.
    for _ in translate_tokens(model, sources, Decoding(beam=1, max_extra=1)):
        pass
    bleu = share * (time.perf_counter() - start)
    return update, loss, bleu
