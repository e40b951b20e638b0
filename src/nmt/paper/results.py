"""The files that runs have left."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from nmt.configuration import Catalog, Reproduction
from nmt.errors import UserError
from nmt.files import read_json, read_lines
from nmt.training.metrics import read_metrics

# What collect.py writes: a line for each run, with its files
COLLECTED = "runs.jsonl.gz"
# The keys of training.json that are read
TRAINING_KEYS = (
    *("settings", "made_by", "parameters", "flops"),
    *("seconds", "device_seconds", "target_tokens"),
)


@dataclass(frozen=True)
class RunFiles:
    """The files of all runs, by path: in a folder of runs, or as collect.py has collected them."""

    folder: Path

    @cached_property
    def collected(self) -> dict[str, Any]:
        """The files in a folder that collect.py made, by path; empty for a folder of runs."""
        path = self.folder / COLLECTED
        lines = map(json.loads, read_lines(path)) if path.exists() else []
        return {
            f"{line['run']}/{name}": content
            for line in lines
            for name, content in line["files"].items()
        }

    def has(self, path: str) -> bool:
        """Return whether there is such a file."""
        return path in self.collected or (self.folder / path).exists()

    def read(self, path: str, keys: Iterable[str] = ()) -> dict:
        """Return what is in a JSON file. Raises UserError where it is missing or lacks a key."""
        return self.collected.get(path) or read_json(self.folder / path, keys)

    def metrics(self, run: str) -> list[dict]:
        """Return the lines that were logged while a run was trained; none where no log is."""
        path = f"{run}/metrics.jsonl"
        return self.collected.get(path) or read_metrics(self.folder / path)


@dataclass(frozen=True)
class Run:
    """A run of an experiment with one seed, in CORPUS/EXPERIMENT/seed-SEED, or an ensemble.

    An ensemble has members but no seed, and is in CORPUS/ENSEMBLE/ensemble; so is a system from
    elsewhere, which has neither. Methods that read a file raise UserError when it does not exist or
    is damaged.

    trained_in: the folder of its training, another run's where the experiment shares it.
    """

    files: RunFiles
    folder: str
    experiment: str
    seed: int | None
    trained_in: str = ""
    members: tuple["Run", ...] = field(default=())

    @property
    def trained_runs(self) -> tuple["Run", ...]:
        """The runs whose trainings this one rests on: itself, or an ensemble's members."""
        return self.members if self.seed is None else (self,)

    @property
    def is_trained(self) -> bool:
        """Whether every training that the run rests on is there."""
        return all(run.files.has(f"{run.trained_in}/training.json") for run in self.trained_runs)

    @property
    def seeds(self) -> str:
        """The seed as text, or of an ensemble "base 1, base 2, big 1"."""
        if self.seed is None:
            return ", ".join(f"{run.experiment} {run.seed}" for run in self.members)
        return str(self.seed)

    def has(self, name: str) -> bool:
        """Return whether the run's folder has a file."""
        return self.files.has(f"{self.folder}/{name}")

    def read(self, name: str, keys: Iterable[str] = ()) -> dict:
        """Return what is in a JSON file of the run, which must have the keys."""
        return self.files.read(f"{self.folder}/{name}", keys)

    def training(self) -> dict:
        """Return what train.py wrote about the run's training."""
        return self.files.read(f"{self.trained_in}/training.json", TRAINING_KEYS)

    def trainings(self) -> list[dict]:
        """Return what train.py wrote about each of `trained_runs`."""
        return [run.training() for run in self.trained_runs]

    def metrics(self) -> list[dict]:
        """Return the lines that were logged during training."""
        return self.files.metrics(self.trained_in)


def find_runs(
    files: RunFiles, reproduction: Reproduction, catalog: Catalog, rows: list[str]
) -> list[Run]:
    """Return the runs of `rows`, in their order, whether they are there or not.

    An experiment has a run for each of its seeds; an ensemble is a single run.
    """
    corpus = reproduction.corpus
    runs = []
    for row in rows:
        row_runs = []
        for name, seed in catalog.trainings(row, reproduction.seeds_for(row)):
            experiment = catalog.experiment(name)
            trained_in = f"{corpus}/{experiment.trained_as or name}/seed-{seed}"
            row_runs.append(Run(files, f"{corpus}/{name}/seed-{seed}", name, seed, trained_in))
        if row in catalog.ensembles:
            runs.append(Run(files, f"{corpus}/{row}/ensemble", row, None, members=tuple(row_runs)))
        else:
            runs += row_runs
    return runs


def find_trained_runs(
    files: RunFiles, reproduction: Reproduction, catalog: Catalog, rows: list[str]
) -> list[Run]:
    """Return those runs of `find_runs` that are trained. Raises UserError when there are none."""
    runs = find_runs(files, reproduction, catalog, rows)
    trained = [run for run in runs if run.is_trained]
    if not trained:
        first = runs[0].trained_runs[0]
        path = files.folder / first.trained_in / "training.json"
        raise UserError(f"{path} is not there: let snakemake train {first.experiment}.")
    return trained


def corpus_folder(files: RunFiles, corpus: str) -> Path:
    """Return the folder of a corpus's data, beside the folder of all runs."""
    return files.folder.parent / "corpora" / corpus


def provenance(trainings: list[dict], key: str) -> str:
    """Return the commit, device, processes, threads or torch of all calls that made updates.

    Several, with commas between them, where a training was continued by another call.
    """
    values = [str(call[key]) for training in trainings for call in training["made_by"]]
    return ", ".join(dict.fromkeys(values))


def commits(runs: list[Run]) -> str:
    """Return the commits that trained the runs, with commas between them; mostly it is one."""
    return provenance([training for run in runs for training in run.trainings()], "commit")
