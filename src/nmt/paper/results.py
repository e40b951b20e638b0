"""The files that runs have left on disk, checked against the configuration printed beside them."""

from collections.abc import Iterable
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

# The script that makes each file of a run's folder; the split's name precedes scores.json.
SCRIPTS = {
    "training.json": "train.py",
    "metrics.jsonl": "train.py",
    "dev.perplexity.json": "perplexity.py",
    "attention.json": "attend.py",
    "dev.sweep.json": "sweep.py",
    "scores.json": "score.py",
}
# What is read of training.json
TRAINING_KEYS = ("settings", "made_by", "parameters", "flops", "seconds", "device_seconds")


@dataclass(frozen=True)
class Run:
    """A run of an experiment with one seed, in RUNS/CORPUS/EXPERIMENT/seed-SEED, or an ensemble.

    An ensemble has members but no seed, and is in RUNS/CORPUS/ENSEMBLE/ensemble. Methods that read
    a file raise UserError when it does not exist or is damaged.
    """

    folder: Path
    experiment: str
    seed: int | None
    members: tuple["Run", ...] = ()

    @property
    def trained_runs(self) -> tuple["Run", ...]:
        """The runs whose trainings this one rests on: itself, or an ensemble's members."""
        return self.members or (self,)

    @property
    def seeds(self) -> str:
        """The seed as text, or of an ensemble "base 1, base 2, big 1"."""
        if self.members:
            return ", ".join(f"{run.experiment} {run.seed}" for run in self.members)
        return str(self.seed)

    def path(self, name: str, prefix: str = "") -> Path:
        """Return the path of a file of the run.

        Raises UserError, which names the script that makes the file, when it does not exist.
        """
        path = self.folder / f"{prefix}{name}"
        if not path.exists():
            raise UserError(f"{path} is not there: {self.remedy(name)}.")
        return path

    def remedy(self, name: str) -> str:
        """Return what makes a file of the run."""
        owner = f"experiment {self.experiment}, seed {self.seed}"
        if self.members:
            owner = f"ensemble {self.experiment}"
        return f"let snakemake make it, or run src/{SCRIPTS[name]} for {owner}"

    def remedy_of_damage(self, name: str) -> str:
        """Return what makes a damaged file of the run again."""
        return f"delete it and {self.remedy(name)}; no training that was finished is repeated"

    def read(self, name: str, keys: Iterable[str], prefix: str = ""):
        """Return what is in a JSON file of the run.

        Raises UserError when it is damaged, or has not the keys.
        """
        return read_json(self.path(name, prefix), keys, self.remedy_of_damage(name))

    def training(self) -> dict:
        """Return what train.py wrote about the run."""
        return present_spelling(self.read("training.json", TRAINING_KEYS))

    def trainings(self) -> list[dict]:
        """Return what train.py wrote about each of `trained_runs`."""
        return [run.training() for run in self.trained_runs]

    def metrics(self) -> list[dict]:
        """Return the lines that were logged during training."""
        name = "metrics.jsonl"
        return read_metrics(self.path(name), self.remedy_of_damage(name))

    def scores(self, split: str, keys: Iterable[str] = ()) -> dict:
        """Return what score.py wrote about the split's translations, which must have the keys."""
        return self.read("scores.json", keys, f"{split}.")

    def perplexity(self) -> dict:
        """Return what perplexity.py wrote about the dev set."""
        return self.read("dev.perplexity.json", ["perplexity", "tokens"])

    def sweep(self) -> dict:
        """Return what sweep.py wrote about the dev set."""
        return self.read("dev.sweep.json", ["beam", "alpha", "signature"])

    def attention(self) -> dict:
        """Return what attend.py wrote about the reproduction's sentence."""
        return self.read("attention.json", ["source", "target", "maps"])


def find_runs(
    folder: Path, reproduction: Reproduction, catalog: Catalog, rows: list[str]
) -> list[Run]:
    """Return the runs of `rows`, in their order.

    An experiment has a run for each of its seeds; an ensemble is a single run. `folder` holds all
    runs. Raises UserError for a run that is missing, or was trained with other settings than the
    catalog's.
    """
    corpus_folder = folder / reproduction.corpus
    runs = []
    for row in rows:
        trained_runs = [
            Run(corpus_folder / name / f"seed-{seed}", name, seed)
            for name, seed in catalog.trainings(row, reproduction.seeds_for(row))
        ]
        for run in trained_runs:
            check_settings(run, catalog.experiment(run.experiment))
        if row in catalog.ensembles:
            runs.append(Run(corpus_folder / row / "ensemble", row, None, tuple(trained_runs)))
        else:
            runs += trained_runs
    return runs


def check_settings(run: Run, experiment: Experiment) -> None:
    """Raise UserError when a run was trained with other settings than the experiment's.

    A table's row must not show the numbers of another model than its configuration describes.
    """
    path = run.path("training.json")
    settings = run.training()["settings"]
    where = f"{path}, settings"
    trained = {
        "model": validated(type(experiment.model), settings["model"], where),
        "training": validated(Training, settings["training"], where),
    }
    for section, values in trained.items():
        for key, value in values:
            configured = getattr(getattr(experiment, section), key)
            may_differ = key in CHECKPOINT_KEYS and experiment.trained_as
            if value != configured and not may_differ:
                raise UserError(
                    f"{path}: trained with {key} {value}, but the configuration says {configured}"
                    f" for {run.experiment}: train it again, or take the change back."
                )


def provenance(trainings: list[dict], key: str) -> str:
    """Return the commit, device, processes, threads or torch of all calls that made updates.

    Several, with commas between them, where a training was continued by another call.
    """
    values = [str(call[key]) for training in trainings for call in training["made_by"]]
    return ", ".join(dict.fromkeys(values))


def commits(runs: list[Run]) -> str:
    """Return the commits that trained the runs, with commas between them; mostly it is one."""
    return provenance([training for run in runs for training in run.trainings()], "commit")


def run_results(runs: list[Run], split: str, metrics: list[str], catalog: Catalog) -> pd.DataFrame:
    """Return one line for each run: its metrics, what it cost, and where it comes from.

    parameters_millions counts a tied matrix once; flops_6nd is nmt.models.flops' count,
    flops_sustained AIAYN's estimate (empty for a device without a known rate); minutes are the
    training loop's, validation included. An ensemble's are the sums of its members'. diverged:
    whether a training has.

    Raises UserError when runs with the same vocabulary were trained on different data.
    """
    check_same_data([trained for run in runs for trained in run.trained_runs], catalog)
    return pd.DataFrame([run_result(run, split, metrics) for run in runs])


def check_same_data(runs: list[Run], catalog: Catalog) -> None:
    """Raise UserError when runs with the same vocabulary were trained on different data."""
    first_runs: dict[str, Run] = {}
    for run in runs:
        vocabulary = catalog.experiment(run.experiment).vocabulary
        first = first_runs.setdefault(vocabulary, run)
        if run.training()["settings"]["tokens"] != first.training()["settings"]["tokens"]:
            raise UserError(
                f"{run.folder} was trained on other data than {first.folder}: train the older"
                " again."
            )


def run_result(run: Run, split: str, metrics: list[str]) -> dict:
    """Return the line of `run_results` for one run."""
    result: dict = {"experiment": run.experiment, "seed": run.seeds, "sentences": None}
    for metric in metrics:
        if metric == "perplexity":
            perplexity = run.perplexity()
            result[metric] = perplexity["perplexity"]
            result[f"{metric}_signature"] = f"{perplexity['tokens']} subwords"
        else:
            scores = run.scores(split, ["sentences", metric])
            result["sentences"] = scores["sentences"]
            result[metric] = scores[metric]["score"]
            result[f"{metric}_signature"] = scores[metric]["signature"]
    trainings = run.trainings()
    sustained = [
        sustained_flops(training["device_seconds"], provenance([training], "device"))
        for training in trainings
    ]
    return result | {
        "parameters_millions": sum(training["parameters"] for training in trainings) / 1e6,
        "flops_6nd": sum(training["flops"] for training in trainings),
        "flops_sustained": None if None in sustained else sum(filter(None, sustained)),
        "minutes": sum(training["seconds"] for training in trainings) / 60,
        # Trainings of earlier versions do not say it.
        "diverged": any(training.get("diverged") for training in trainings),
        "device": provenance(trainings, "device"),
        "processes": provenance(trainings, "processes"),
        "threads": provenance(trainings, "threads"),
        "commit": provenance(trainings, "commit"),
    }
