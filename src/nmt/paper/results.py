"""What runs have left on disk, checked against the configuration that is to be printed beside it."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from nmt.configuration import Catalogue, Experiment, Reproduction, Training, validated
from nmt.errors import UserError
from nmt.evaluation.cost import sustained_flops, training_flops
from nmt.files import read_json
from nmt.training.metrics import read_metrics

# Which script makes which file of a run's folder; before scores.json stands the split's name.
MADE_BY = {
    "training.json": "train.py",
    "metrics.jsonl": "train.py",
    "dev.perplexity.json": "perplexity.py",
    "attention.json": "attend.py",
    "scores.json": "score.py",
}


@dataclass(frozen=True)
class Run:
    """One experiment trained with one seed, in the folder RUNS/CORPUS/EXPERIMENT/seed-SEED."""

    folder: Path
    experiment: str
    seed: int

    def path(self, name: str, prefix: str = "") -> Path:
        """A file of the run. Raises UserError when it is not there, saying what makes it."""
        path = self.folder / f"{prefix}{name}"
        if not path.exists():
            raise UserError(
                f"{path} is not there: let snakemake make it, "
                f"or run src/{MADE_BY[name]} for experiment {self.experiment}, seed {self.seed}."
            )
        return path

    def training(self) -> dict:
        return read_json(self.path("training.json"))

    def metrics(self) -> list[dict]:
        return read_metrics(self.path("metrics.jsonl"))

    def scores(self, split: str) -> dict:
        return read_json(self.path("scores.json", f"{split}."))

    def perplexity(self) -> dict:
        return read_json(self.path("dev.perplexity.json"))

    def attention(self) -> dict:
        return read_json(self.path("attention.json"))


def find_runs(folder: Path, reproduction: Reproduction, catalogue: Catalogue, experiments: list[str]) -> list[Run]:
    """The runs of `experiments`, in their order, with every seed of the reproduction.

    Raises UserError for a run that is missing, or was trained with other settings than the catalogue's.
    """
    runs = [
        Run(folder / reproduction.corpus / experiment / f"seed-{seed}", experiment, seed)
        for experiment in experiments
        for seed in reproduction.seeds
    ]
    for run in runs:
        check_settings(run, catalogue.experiment(run.experiment))
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
            if value != configured:
                raise UserError(
                    f"{path}: trained with {key} {value}, but experiments.yaml says {configured} for "
                    f"{run.experiment}: train it again, or take the change back."
                )


def made_by(training: dict, key: str) -> str:
    """The commit, device, threads or torch of all calls that made updates of a run: mostly one."""
    return ", ".join(dict.fromkeys(str(call[key]) for call in training["made_by"]))


def commits(runs: list[Run]) -> str:
    """The commits that trained the runs: mostly one."""
    return ", ".join(dict.fromkeys(call["commit"] for run in runs for call in run.training()["made_by"]))


def results(runs: list[Run], split: str, metrics: list[str], catalogue: Catalogue, tokens: Path) -> pd.DataFrame:
    """One line a run: its measured metrics (as METRICS), what it cost, and where it comes from.

    tokens: a folder with VOCABULARY/tokens/train of the corpus, for the lengths that FLOPs depend on.

    parameters_millions counts a tied matrix once; flops_6nd is nmt.evaluation.cost's count, flops_sustained AIAYN's
    own (empty for a device without a known rate); minutes are the training loop's, validation included.
    """
    return pd.DataFrame([line(run, split, metrics, catalogue, tokens) for run in runs])


def line(run: Run, split: str, metrics: list[str], catalogue: Catalogue, tokens: Path) -> dict:
    experiment, training = catalogue.experiment(run.experiment), run.training()
    values: dict = {"experiment": run.experiment, "seed": run.seed, "sentences": None}
    for metric in metrics:
        if metric == "perplexity":
            measured = run.perplexity()
            values[metric], values["perplexity_signature"] = measured["perplexity"], f"{measured['tokens']} subwords"
        else:
            scores = run.scores(split)
            values["sentences"] = scores["sentences"]
            values[metric], values[f"{metric}_signature"] = scores[metric]["score"], scores[metric]["signature"]
    return values | {
        "parameters_millions": training["parameters"] / 1e6,
        "flops_6nd": flops(run, training, tokens / experiment.vocabulary / "tokens" / "train"),
        "flops_sustained": sustained_flops(training["seconds"], made_by(training, "device")),
        "minutes": training["seconds"] / 60,
        "device": made_by(training, "device"),
        "threads": made_by(training, "threads"),
        "commit": made_by(training, "commit"),
    }


def flops(run: Run, training: dict, tokens: Path) -> float:
    """Of the whole training. Raises UserError when `tokens` holds other data than the run was trained on."""
    data = read_json(tokens / "meta.json")
    if data["fingerprint"] != training["settings"]["tokens"]:
        raise UserError(f"{run.folder} was trained on other data than {tokens} holds: train it again.")
    target_tokens = data["target_tokens"] + data["sentences"]  # with EOS, as training counts them
    epochs = training["target_tokens"] / target_tokens
    source_tokens = data["source_tokens"] + data["sentences"]
    return training_flops(
        training["products"], epochs * data["sentences"], epochs * source_tokens, epochs * target_tokens
    )
