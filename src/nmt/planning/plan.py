"""What the trainings of a reproduction take: tokens, FLOPs, time, memory, disk and money."""

from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np
import torch

from nmt.configuration import (
    Catalog,
    Experiment,
    Reproduction,
    Training,
    training_disk,
    training_megabytes,
)
from nmt.data.batches import Batches
from nmt.errors import UserError
from nmt.files import read_json
from nmt.models.build import build
from nmt.models.flops import multiply_adds, training_flops
from nmt.models.protocol import Model
from nmt.models.size import size
from nmt.planning.calibration import calibrate
from nmt.planning.roofline import Device, Prediction, predict_training
from nmt.planning.texts import Texts
from nmt.training.schedule import source_weight

UPDATES_LOOKED_AT = 200


@dataclass(frozen=True)
class Amounts:
    """What one training takes whatever it runs on; tokens are of all updates, EOS counted."""

    parameters: int
    source_tokens: float
    target_tokens: float
    flops: float
    memory: float  # bytes
    disk: float  # bytes


@dataclass(frozen=True)
class PlannedTraining:
    """One experiment's trainings, one for each seed.

    seconds: predicted for one of them. measured: device-seconds of those that are finished.
    update: the prediction of an update on a GPU, None where updates were timed here.
    """

    name: str
    seeds: list[int]
    amounts: Amounts
    seconds: float
    measured: list[float]
    update: Prediction | None = None


def trainings_of(
    reproduction: Reproduction, catalog: Catalog, tables: list[str]
) -> dict[str, list[int]]:
    """Return the seeds of each experiment that is trained for these tables."""
    trainings: dict[str, list[int]] = {}
    for table in tables:
        for row in reproduction.tables[table].experiments:
            for name, seed in catalog.trainings(row, reproduction.seeds_for(row)):
                seeds = trainings.setdefault(catalog.experiment(name).trained_as or name, [])
                if seed not in seeds:
                    seeds.append(seed)
    return trainings


def texts_of(name: str, reproduction: Reproduction, catalog: Catalog, results: Path) -> Texts:
    """Return what an experiment learns from."""
    vocabulary_name = catalog.experiment(name).vocabulary
    vocabulary = catalog.vocabulary(vocabulary_name)
    return Texts(
        results / "corpora" / reproduction.corpus / vocabulary_name,
        (vocabulary.source_size or vocabulary.size, vocabulary.size),
        catalog.cleaning(reproduction.corpus, vocabulary_name).max_length,
    )


def amounts_of(experiment: Experiment, texts: Texts) -> Amounts:
    """Count what one training takes."""
    train = texts.load("train")
    sizes = train.meta["vocabulary_sizes"]
    settings = experiment.training
    batches = Batches.for_training(train, settings, seed=1)
    updates = [np.concatenate(update) for update in batches.epoch(1)[:UPDATES_LOOKED_AT]]
    counts = mean_multiply_adds(build(experiment.model, *sizes), settings)
    source_tokens, target_tokens, flops = 0.0, 0.0, 0.0
    for sentences in updates:
        source = float(batches.source_tokens(sentences))
        target = float(batches.target_tokens(sentences))
        source_tokens += source
        target_tokens += target
        flops += training_flops(counts, len(sentences), source, target)
    factor = settings.updates / len(updates)
    parameters = size(experiment.model, *sizes).parameters
    tokens_mb = 2e-6 * (len(train.source.tokens) + len(train.target.tokens) + 8 * len(train))
    return Amounts(
        parameters,
        factor * source_tokens,
        factor * target_tokens,
        factor * flops,
        memory=1e6 * training_megabytes(parameters, settings, tokens_mb),
        disk=training_disk(4 * parameters, settings) + 4 * parameters,
    )


def mean_multiply_adds(model: Model, settings: Training) -> dict[str, float]:
    """Return a model's multiply-adds as multiply_adds does, the mean over all updates.

    In some of them the source is learned as well.
    """
    counts = multiply_adds(model)
    if not settings.source_loss:
        return counts
    numbers = range(1, settings.updates + 1)
    share = fmean(source_weight(number, settings.source_loss) > 0 for number in numbers)
    with_source = multiply_adds(model, source_too=True)
    return {name: (1 - share) * counts[name] + share * with_source[name] for name in counts}


def cost_of(experiment: Experiment, texts: Texts) -> tuple:
    """Return all that an update's time depends on: experiments that share it are timed once."""
    training = experiment.training
    batches = (training.batch_tokens, training.micro_batches, training.precision)
    learning = (training.optimizer, bool(training.source_loss))
    return experiment.model.model_dump_json(), *batches, *learning, texts


def plan(
    reproduction: Reproduction,
    catalog: Catalog,
    tables: list[str],
    runs: Path,
    gpu: Device | None,
    seconds: float,
    threads: int,
    workers: int,
) -> list[PlannedTraining]:
    """Return the trainings of these tables.

    runs: the folder of all runs, beside that of the corpora. gpu: what they would run on; None:
    this machine, `workers` at a time on `threads` each, where a few updates of each are timed for
    about so many `seconds` in all.
    """
    trainings = trainings_of(reproduction, catalog, tables)
    experiments = {name: catalog.experiment(name) for name in trainings}
    texts = {name: texts_of(name, reproduction, catalog, runs.parent) for name in trainings}
    amounts = {name: amounts_of(experiments[name], texts[name]) for name in trainings}
    timed = {cost_of(experiments[name], texts[name]): name for name in trainings}
    updates: dict[str, Prediction] = {}
    if gpu:
        of_a_cost = {
            cost: predict_training(experiments[name], texts[name], gpu)
            for cost, name in timed.items()
        }
        updates = {name: of_a_cost[cost_of(experiments[name], texts[name])] for name in trainings}
        predicted = {
            name: experiments[name].training.updates * update.seconds
            for name, update in updates.items()
        }
    else:
        calls = [(experiments[name], texts[name]) for name in timed.values()]
        # Trainings on cores slow each other down; each on a GPU of its own does not.
        workers = 1 if torch.cuda.is_available() else workers
        calibrated = dict(zip(timed, calibrate(calls, seconds, threads, workers), strict=True))
        predicted = {
            name: calibrated[cost_of(experiment, texts[name])].of_training(experiment)
            for name, experiment in experiments.items()
        }
    return [
        PlannedTraining(
            name,
            seeds,
            amounts[name],
            predicted[name],
            # What was measured here says nothing about a GPU that is not here.
            [] if gpu else measured_seconds(runs / reproduction.corpus / name, seeds),
            updates.get(name),
        )
        for name, seeds in trainings.items()
    ]


def measured_seconds(folder: Path, seeds: list[int]) -> list[float]:
    """Return the device-seconds of the seeds that are trained."""
    measured = []
    for seed in seeds:
        try:
            measured.append(read_json(folder / f"seed-{seed}" / "training.json")["device_seconds"])
        except (UserError, KeyError):
            continue
    return measured


def makespan(trainings: list[PlannedTraining], devices: int) -> float:
    """Return the seconds until all are done on so many devices, the longest being begun first."""
    busy = [0.0] * devices
    seconds = [training.seconds for training in trainings for _ in training.seeds]
    for duration in sorted(seconds, reverse=True):
        busy[busy.index(min(busy))] += duration
    return max(busy)
