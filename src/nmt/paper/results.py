"""What runs have left on disk, checked against the configuration that is to be printed beside
it.
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from nmt.configuration import (
    CHECKPOINT_KEYS,
    Catalog,
    Experiment,
    Reproduction,
    Training,
    present_spelling,
    validated,
)
from nmt.errors import UserError
from nmt.evaluation.cost import sustained_flops
from nmt.files import read_json
from nmt.training.metrics import read_metrics

# Which script makes which file of a run's folder; before scores.json stands the split's name.
MADE_BY = {
    "training.json": "train.py",
    "metrics.jsonl": "train.py",
    "dev.perplexity.json": "perplexity.py",
    "attention.json": "attend.py",
    "dev.sweep.json": "sweep.py",
    "scores.json": "score.py",
}


@dataclass(frozen=True)
class Run:
    """A row of a table with one seed, in RUNS/CORPUS/ROW/seed-SEED; an ensemble, without a seed, in
    .../ensemble.
    """

    folder: Path
    experiment: str
    seed: int | None
    members: tuple["Run", ...] = ()  # of an ensemble

    @property
    def trained(self) -> tuple["Run", ...]:
        """The trainings that it rests on: its own, or its members'."""
        return self.members or (self,)

    def path(self, name: str, prefix: str = "") -> Path:
        """A file of the run. Raises UserError when it is not there, saying what makes it."""
        path = self.folder / f"{prefix}{name}"
        if not path.exists():
            whose = (
                f"ensemble {self.experiment}"
                if self.members
                else f"experiment {self.experiment}, seed {self.seed}"
            )
            raise UserError(
                f"{path} is not there: let snakemake make it, or run src/{MADE_BY[name]} for"
                f" {whose}."
            )
        return path

    @property
    def seeds(self) -> str:
        """ "1", or of an ensemble "base 1, base 2, big 1"."""
        return ", ".join(f"{run.experiment} {run.seed}" for run in self.members) or str(self.seed)

    def training(self) -> dict:
        return present_spelling(read_json(self.path("training.json")))

    def trainings(self) -> list[dict]:
        return [run.training() for run in self.trained]

    def metrics(self) -> list[dict]:
        return read_metrics(self.path("metrics.jsonl"))

    def scores(self, split: str) -> dict:
        return read_json(self.path("scores.json", f"{split}."))

    def perplexity(self) -> dict:
        return read_json(self.path("dev.perplexity.json"))

    def sweep(self) -> dict:
        return read_json(self.path("dev.sweep.json"))

    def attention(self) -> dict:
        return read_json(self.path("attention.json"))


def find_runs(
    folder: Path, reproduction: Reproduction, catalog: Catalog, rows: list[str]
) -> list[Run]:
    """The runs of `rows`, in their order: experiments with every seed of the reproduction,
    ensembles once.

    Raises UserError for a run that is missing, or was trained with other settings than the
    catalog's.
    """
    folder = folder / reproduction.corpus
    runs = []
    for row in rows:
        trained = [
            Run(folder / name / f"seed-{seed}", name, seed)
            for name, seed in catalog.trainings(row, reproduction.seeds_for(row))
        ]
        for run in trained:
            check_settings(run, catalog.experiment(run.experiment))
        runs += (
            [Run(folder / row / "ensemble", row, None, tuple(trained))]
            if row in catalog.ensembles
            else trained
        )
    return runs


def check_settings(run: Run, experiment: Experiment) -> None:
    """A row must not show numbers of a model that is not what its configuration says."""
    path, settings = run.path("training.json"), run.training()["settings"]
    trained = {
        "model": validated(type(experiment.model), settings["model"], f"{path}, settings"),
        "training": validated(Training, settings["training"], f"{path}, settings"),
    }
    for part, values in trained.items():
        for key, value in values:
            configured = getattr(getattr(experiment, part), key)
            if value != configured and not (key in CHECKPOINT_KEYS and experiment.trained_as):
                raise UserError(
                    f"{path}: trained with {key} {value}, but experiments.yaml says {configured}"
                    f" for {run.experiment}: train it again, or take the change back."
                )


def made_by(trainings: list[dict], key: str) -> str:
    """The commit, device, threads or torch of all calls that made updates: mostly one."""
    return ", ".join(
        dict.fromkeys(str(call[key]) for training in trainings for call in training["made_by"])
    )


def commits(runs: list[Run]) -> str:
    """The commits that trained the runs: mostly one."""
    return made_by([training for run in runs for training in run.trainings()], "commit")


def results(runs: list[Run], split: str, metrics: list[str], catalog: Catalog) -> pd.DataFrame:
    """One line a run: its measured metrics (as METRICS), what it cost, and where it comes from.

    parameters_millions counts a tied matrix once; flops_6nd is nmt.models.flops' count,
    flops_sustained AIAYN's own (empty for a device without a known rate); minutes are the training
    loop's, validation included. An ensemble's are the sums of its members'.

    Raises UserError when runs with the same vocabulary were trained on other data.
    """
    data: dict[str, Run] = {}
    for trained in (trained for run in runs for trained in run.trained):
        first = data.setdefault(catalog.experiment(trained.experiment).vocabulary, trained)
        if trained.training()["settings"]["tokens"] != first.training()["settings"]["tokens"]:
            raise UserError(
                f"{trained.folder} was trained on other data than {first.folder}: train the older"
                " again."
            )
    return pd.DataFrame([line(run, split, metrics) for run in runs])


def line(run: Run, split: str, metrics: list[str]) -> dict:
    values: dict = {"experiment": run.experiment, "seed": run.seeds, "sentences": None}
    for metric in metrics:
        if metric == "perplexity":
            measured = run.perplexity()
            values[metric], values["perplexity_signature"] = (
                measured["perplexity"],
                f"{measured['tokens']} subwords",
            )
        else:
            scores = run.scores(split)
            values["sentences"] = scores["sentences"]
            values[metric], values[f"{metric}_signature"] = (
                scores[metric]["score"],
                scores[metric]["signature"],
            )
    trainings = run.trainings()
    sustained = [
        sustained_flops(training["device_seconds"], made_by([training], "device"))
        for training in trainings
    ]
    return values | {
        "parameters_millions": sum(training["parameters"] for training in trainings) / 1e6,
        "flops_6nd": sum(training["flops"] for training in trainings),
        "flops_sustained": None if None in sustained else sum(sustained),
        "minutes": sum(training["seconds"] for training in trainings) / 60,
        "device": made_by(trainings, "device"),
        "processes": made_by(trainings, "processes"),
        "threads": made_by(trainings, "threads"),
        "commit": made_by(trainings, "commit"),
    }
