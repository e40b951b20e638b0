"""The folder of a run: its state while it is trained, and what a finished training leaves."""

import hashlib
import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nmt.configuration import Experiment, former_spelling, present_spelling, training_disk
from nmt.data.tokens import ParallelTokens
from nmt.errors import UserError
from nmt.files import link, lock, read_json, remove, write_json
from nmt.models.size import count_parameters
from nmt.models.weights import parameters, save_tensors
from nmt.training.counters import Counters
from nmt.training.metrics import SETTINGS_REMEDY
from nmt.training.published import publish_run
from nmt.training.trainer import Trainer


@dataclass(frozen=True)
class RunFolder:
    """OUTPUT gets the results; until then all is in OUTPUT/state-<fingerprint>.

    The fingerprint is of what the configuration chooses and of the data, but of no code, and so not
    of what the defaults are.
    """

    output: Path
    experiment: Experiment
    data: dict  # seed, and fingerprints of training and dev set

    @classmethod
    def of(
        cls,
        output: Path,
        experiment: Experiment,
        tokens: ParallelTokens,
        dev: ParallelTokens,
        seed: int,
    ) -> "RunFolder":
        """Return the folder of the experiment's run with this data and seed."""
        fingerprints = {"tokens": tokens.meta["fingerprint"], "dev": dev.meta["fingerprint"]}
        return cls(output, experiment, {"seed": seed} | fingerprints)

    @cached_property
    def fingerprint(self) -> str:
        """A sha256 that names the training."""
        model, training = self.experiment.model, self.experiment.training
        chosen = {"model": model.chosen(), "training": training.chosen()} | self.data
        text = json.dumps(former_spelling(chosen), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def settings(self) -> dict:
        """All settings, defaults included, and the data."""
        model, training = self.experiment.model, self.experiment.training
        return {"model": model.model_dump(), "training": training.model_dump()} | self.data

    @property
    def state_folder(self) -> Path:
        """Where the training keeps its state."""
        return self.output / f"state-{self.fingerprint[:12]}"

    @property
    def state(self) -> Path:
        """The file that training goes on from."""
        return self.state_folder / "state.safetensors"

    @property
    def metrics(self) -> Path:
        """The file that training appends to."""
        return self.state_folder / "metrics.jsonl"

    @contextmanager
    def opened(self, wait: bool) -> Iterator[None]:
        """Hold the state's folder, cleared of what a killed call left half-written.

        Raises UserError where another process holds it and `wait` is false, and where the training
        there was begun with other defaults.
        """
        with locked(self.state_folder, wait):
            for leftover in self.state_folder.rglob(".*.partial"):
                remove(leftover)
            record_settings(self.state_folder, self.settings)
            yield

    def require_space(self, trainer: Trainer) -> None:
        """Raise UserError when the disk has no room for all that the state may come to hold."""
        weights = sum(parameter.nbytes for parameter in parameters(trainer.model).values())
        needed = training_disk(weights, trainer.settings)
        # best-<update> is a second name of a checkpoint's bytes.
        files = [path.stat() for path in self.state_folder.rglob("*.safetensors")]
        present = sum({status.st_ino: status.st_size for status in files}.values())
        free = shutil.disk_usage(self.state_folder).free
        if needed - present > free:
            raise UserError(
                f"training takes up to {gigabytes(needed)} in {self.state_folder},"
                f" {gigabytes(free)} are free there: make room."
            )

    def checkpoints(self, pattern: str = "[0-9]*") -> list[Path]:
        """Return the checkpoints whose names match, oldest first."""
        return sorted((self.state_folder / "checkpoints").glob(f"{pattern}.safetensors"))

    def keep_checkpoint(self, trainer: Trainer, counters: Counters) -> None:
        """Keep the last `average` checkpoints and, as best-<update>, the best one so far.

        The first one stands for it until a dev loss is finite. The one that was the best before
        stays beside it: until the state is written, it is still the best of that state.
        """
        path = self.state_folder / "checkpoints" / f"{counters.update:08d}.safetensors"
        save_tensors(path, parameters(trainer.model))
        if counters.intervals_since_best == 0 or not self.checkpoints("best-*"):
            best = path.with_name(f"best-{path.name}")
            remove(best)
            link(path, best)
        old = self.checkpoints()[: -trainer.settings.average] + self.checkpoints("best-*")[:-2]
        for checkpoint in old:
            remove(checkpoint)

    def forget_checkpoints_after(self, update: int) -> None:
        """Remove checkpoints that the state knows nothing of: they are made again."""
        for path in self.checkpoints("*"):
            if int(path.stem.removeprefix("best-")) > update:
                remove(path)

    def publish(self, trainer: Trainer, counters: Counters, diverged: bool, example: str) -> None:
        """Give the results their places in the output folder.

        example: a source sentence of the dev set.
        """
        training = {
            "updates": counters.update,
            "epochs": counters.epoch,
            "source_tokens": counters.source_tokens,
            "target_tokens": counters.target_tokens,
            "flops": counters.flops,
            "seconds": round(counters.seconds, 1),
            "device_seconds": round(counters.device_seconds, 1),
            "cpu_seconds": round(counters.cpu_seconds, 1),
            "skipped_updates": counters.skipped,
            "best_dev_nll": counters.best_dev_nll,
            "diverged": diverged,
            "example": example,
            "parameters": count_parameters(trainer.model).parameters,
            "made_by": counters.made_by,
            "settings": self.settings,
        }
        checkpoints = self.checkpoints() + self.checkpoints("best-*")[-1:]
        publish_run(self.output, checkpoints, self.metrics, training)


def gigabytes(size: float) -> str:
    """Return a number of bytes as "0.0012 GB" or "41,000 GB"."""
    return f"{float(f'{size / 1e9:.2g}'):,g} GB"


def record_settings(folder: Path, settings: dict) -> None:
    """Write settings.json.

    Raises UserError where the training there was begun with other settings: a default that was
    changed.
    """
    path, settings = folder / "settings.json", json.loads(json.dumps(settings))
    begun = settings
    if path.exists():
        begun = present_spelling(read_json(path, ["model", "training"], SETTINGS_REMEDY))
    for part in ("model", "training"):
        for key, value in begun[part].items():
            if key in settings[part] and settings[part][key] != value:
                raise UserError(
                    f"the training in {folder} was begun with {key} {value}, which is"
                    f" {settings[part][key]} now: move the folder away, or take the change back."
                )
    write_json(path, settings)


@contextmanager
def locked(folder: Path, wait: bool) -> Iterator[None]:
    """Hold the folder for this process; it is freed when the process ends, however.

    Waits while another process holds it, or raises UserError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as file:
        if lock(file) is False:
            busy = f"another process is training in {folder}"
            if not wait:
                raise UserError(f"{busy}: stop it, or wait until it ends.")
            logging.info(f"{busy}: waiting until it ends.")
            lock(file, wait=True)
        yield
