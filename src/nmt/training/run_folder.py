"""The folder of a run: its state while it is trained, and what a finished training leaves."""

import hashlib
import json
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from nmt.configuration import Experiment, Training
from nmt.errors import UserError
from nmt.files import atomic_write, link, lock, no_link, remove, write_json
from nmt.models.build import count_parameters
from nmt.models.weights import parameters, save_tensors
from nmt.training.state import Counters
from nmt.training.trainer import Trainer
from nmt.training.validation import has_diverged


@dataclass(frozen=True)
class RunFolder:
    """OUTPUT gets the results; until then all is in OUTPUT/state-<fingerprint>.

    The fingerprint is of what the configuration chooses and of the data, but of no code, and so not
    of what the defaults are.
    """

    output: Path
    experiment: Experiment
    data: dict  # seed, and fingerprints of training and dev set

    @cached_property
    def fingerprint(self) -> str:
        """A sha256 that names the training."""
        model, training = self.experiment.model, self.experiment.training
        chosen = {"model": model.chosen(), "training": training.chosen()} | self.data
        return hashlib.sha256(json.dumps(chosen, sort_keys=True).encode()).hexdigest()

    @property
    def settings(self) -> dict:
        """All settings, defaults included, and the data."""
        model, training = self.experiment.model, self.experiment.training
        parts = {"model": model, "training": training}
        return {name: part.model_dump(mode="json") for name, part in parts.items()} | self.data

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
    def opened(self) -> Iterator[None]:
        """Hold the state's folder; it is freed when this process ends, however.

        Raises UserError where another process holds it.
        """
        self.state_folder.mkdir(parents=True, exist_ok=True)
        with open(self.state_folder / "lock", "a+", opener=no_link) as file:
            if not lock(file):
                file.seek(0)
                raise UserError(
                    f"another process ({file.read()}) is training in {self.state_folder}: stop it,"
                    " or wait until it ends."
                )
            file.truncate(0)
            file.write(f"{os.getpid()} on {socket.gethostname()}")
            file.flush()
            write_json(self.state_folder / "settings.json", self.settings)
            yield

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
        for old in (
            self.checkpoints()[: -trainer.settings.average] + self.checkpoints("best-*")[:-2]
        ):
            remove(old)

    def forget_checkpoints_after(self, update: int) -> None:
        """Remove checkpoints that the state knows nothing of: they are made again."""
        for path in self.checkpoints("*"):
            if int(path.stem.removeprefix("best-")) > update:
                remove(path)

    def publish(self, trainer: Trainer, counters: Counters) -> None:
        """Give the output folder checkpoints (as hard links), metrics and, last, training.json.

        Warns of a training that has diverged.
        """
        diverged = has_diverged(counters.dev_nll, trainer.model.output.out_features)
        if diverged:
            logging.warning(
                "the training has diverged: its model is worse than guessing. Try a lower learning"
                " rate or a longer warm-up."
            )
        with atomic_write(self.output / "checkpoints") as temporary:
            temporary.mkdir()
            for path in self.checkpoints() + self.checkpoints("best-*")[-1:]:
                link(path, temporary / path.name)
        with atomic_write(self.output / "metrics.jsonl") as temporary:
            temporary.write_bytes(self.metrics.read_bytes())
        training = {
            "updates": counters.update,
            "target_tokens": counters.target_tokens,
            "flops": counters.flops,
            "seconds": round(counters.seconds, 1),
            "device_seconds": round(counters.device_seconds, 1),
            "diverged": diverged,
            "parameters": count_parameters(trainer.model).parameters,
            "made_by": counters.made_by,
            "settings": self.settings,
        }
        write_json(self.output / "training.json", training)


def checkpoints_to_average(folder: Path, training: Training, updates: int) -> list[Path]:
    """Return the last checkpoints, as many as are averaged, or the best one.

    updates: those of the finished training. Raises UserError when a checkpoint is not there, which
    a training of so many updates has written.
    """
    if training.checkpoint == "best":
        names = [path.name for path in sorted(folder.glob("best-*.safetensors"))[-1:]]
        names = names or ["best-*.safetensors"]
    else:
        intervals = [*range(training.interval, updates, training.interval), updates]
        names = [f"{update:08d}.safetensors" for update in intervals[-training.average :]]
        if len(names) < training.average:
            logging.warning(f"{len(names)} of {training.average} checkpoints averaged: no others.")
    missing = [name for name in names if not (folder / name).exists()]
    if missing:
        raise UserError(
            f"{folder} has no {', '.join(missing)}: delete {folder} and run snakemake, or train.py,"
            " which take them from the run's state-* folder."
        )
    return [folder / name for name in names]
