"""The files that runs have left on disk, compared with the configuration printed beside them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from pathlib import Path

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
from nmt.files import read_json
from nmt.training.metrics import read_metrics

# The script that makes each file of a run's folder; the split's name precedes scores.json.
SCRIPTS = {
    "training.json": "train.py",
    "metrics.jsonl": "train.py",
    "dev.perplexity.json": "perplexity.py",
    "attention.json": "attend.py",
    "dev.sweep.json": "sweep.py",
    "gradients.json": "measure_gradients.py",
    "scores.json": "score.py",
}
# The keys of training.json that are read
TRAINING_KEYS = {"settings": dict, "made_by": list} | dict.fromkeys(
    ("parameters", "flops", "seconds", "device_seconds", "target_tokens"), Real
)


@dataclass(frozen=True)
class Run:
    """A run of an experiment with one seed, in RUNS/CORPUS/EXPERIMENT/seed-SEED, or an ensemble.

    An ensemble has members but no seed, and is in RUNS/CORPUS/ENSEMBLE/ensemble. Methods that read
    a file raise UserError when it does not exist or is damaged.

    stale: why the run is not what the configuration and the data now describe; empty if it is.
    """

    folder: Path
    experiment: str
    seed: int | None
    members: tuple["Run", ...] = ()
    stale: str = ""

    @property
    def is_trained(self) -> bool:
        """Whether every training that the run rests on is there."""
        return all((run.folder / "training.json").exists() for run in self.trained_runs)

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
        """Return the path of a file of the run, or of that file compressed.

        Raises UserError, which names the script that makes the file, when neither exists.
        """
        path = self.folder / f"{prefix}{name}"
        compressed = path.with_name(f"{path.name}.gz")
        if not path.exists() and not compressed.exists():
            raise UserError(f"{path} is not there: {self.remedy(name)}.")
        return path if path.exists() else compressed

    def remedy(self, name: str) -> str:
        """Return what makes a file of the run."""
        owner = f"experiment {self.experiment}, seed {self.seed}"
        if self.members:
            owner = f"ensemble {self.experiment}"
        return f"let snakemake make it, or run src/{SCRIPTS[name]} for {owner}"

    def remedy_of_damage(self, name: str) -> str:
        """Return what makes a damaged file of the run again."""
        return f"delete it and {self.remedy(name)}; no training that was finished is repeated"

    def read(self, name: str, keys: Iterable[str] | Mapping[str, type], prefix: str = ""):
        """Return what is in a JSON file of the run.

        Raises UserError when it is damaged, or has not the keys (as read_json has them).
        """
        return read_json(self.path(name, prefix), keys, self.remedy_of_damage(name))

    def has(self, name: str, prefix: str = "") -> bool:
        """Return whether a file of the run exists, compressed or not."""
        return any((self.folder / f"{prefix}{name}{end}").exists() for end in ("", ".gz"))

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

    def scores(self, split: str, keys: Mapping[str, type] = {}) -> dict:
        """Return what score.py wrote about the split's translations, which must have the keys."""
        return self.read("scores.json", keys, f"{split}.")

    def perplexity(self) -> dict:
        """Return what perplexity.py wrote about the dev set."""
        return self.read("dev.perplexity.json", {"perplexity": Real, "tokens": Real})

    def sweep(self) -> dict:
        """Return what sweep.py wrote about the dev set."""
        return self.read("dev.sweep.json", ["beam", "alpha", "signature"])

    def gradients(self) -> dict:
        """Return what measure_gradients.py wrote about the model."""
        return self.read("gradients.json", ["untrained", "trained"])

    def attention(self) -> dict:
        """Return what attend.py wrote about the reproduction's sentence."""
        return self.read("attention.json", ["source", "target", "maps"])


def find_runs(
    folder: Path, reproduction: Reproduction, catalog: Catalog, rows: list[str]
) -> list[Run]:
    """Return the runs of `rows`, in their order, whether they are there or not.

    An experiment has a run for each of its seeds; an ensemble is a single run. `folder` holds all
    runs, and the folder "corpora" beside it their data.
    """
    corpus_folder = folder / reproduction.corpus
    data = folder.parent / "corpora" / reproduction.corpus
    first_tokens: dict[str, str] = {}
    runs = []
    for row in rows:
        trained_runs = []
        for name, seed in catalog.trainings(row, reproduction.seeds_for(row)):
            experiment = catalog.experiment(name)
            run = Run(corpus_folder / name / f"seed-{seed}", name, seed)
            if run.is_trained:
                settings = run.training()["settings"]
                stale = changed_setting(run, settings, experiment)
                stale = stale or changed_data(settings, experiment.vocabulary, data, first_tokens)
                run = replace(run, stale=stale)
            trained_runs.append(run)
        if row in catalog.ensembles:
            stale = next((run.stale for run in trained_runs if run.stale), "")
            members = tuple(trained_runs)
            runs.append(Run(corpus_folder / row / "ensemble", row, None, members, stale))
        else:
            runs += trained_runs
    return runs


def find_trained_runs(
    folder: Path, reproduction: Reproduction, catalog: Catalog, rows: list[str]
) -> list[Run]:
    """Return those runs of `find_runs` that are trained.

    Raises UserError, which names the first file that is missing, when there are none.
    """
    runs = find_runs(folder, reproduction, catalog, rows)
    trained = [run for run in runs if run.is_trained]
    if not trained:
        runs[0].trainings()
    return trained


def changed_setting(run: Run, settings: dict, experiment: Experiment) -> str:
    """Return which setting a run was trained with that is not the experiment's, or "".

    A table's row must not pass for the numbers of another model than its configuration describes.
    """
    where = f"{run.folder / 'training.json'}, settings"
    trained = {
        "model": validated(type(experiment.model), settings["model"], where),
        "training": validated(Training, settings["training"], where),
    }
    for section, values in trained.items():
        for key, value in values:
            configured = getattr(getattr(experiment, section), key)
            may_differ = key in CHECKPOINT_KEYS and experiment.trained_as
            if value != configured and not may_differ:
                return f"trained with {key} {value}, but the configuration says {configured}"
    return ""


def changed_data(settings: dict, vocabulary: str, data: Path, first_tokens: dict[str, str]) -> str:
    """Return that a run was trained on other data than there is now, or "".

    data: the corpus's folder of data. Where it does not hold the vocabulary's tokens, the data are
    compared with those of the first run with this vocabulary, which `first_tokens` remembers.
    """
    meta = data / vocabulary / "tokens" / "train" / "meta.json"
    if meta.exists():
        first_tokens.setdefault(vocabulary, read_json(meta, ["fingerprint"])["fingerprint"])
    if settings["tokens"] != first_tokens.setdefault(vocabulary, settings["tokens"]):
        return f"trained on other data than {vocabulary} has now"
    return ""


def provenance(trainings: list[dict], key: str) -> str:
    """Return the commit, device, processes, threads or torch of all calls that made updates.

    Several, with commas between them, where a training was continued by another call.
    """
    values = [str(call[key]) for training in trainings for call in training["made_by"]]
    return ", ".join(dict.fromkeys(values))


def commits(runs: list[Run]) -> str:
    """Return the commits that trained the runs, with commas between them; mostly it is one."""
    return provenance([training for run in runs for training in run.trainings()], "commit")
