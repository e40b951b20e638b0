"""All that training needs to go on as if nothing had happened, in one file, and the folder it lives in."""

import fcntl
import hashlib
import json
import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from nmt.data.batches import Share
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.models.weights import load_tensors, parameters, save_tensors, set_parameters
from nmt.training.trainer import Learner


@dataclass
class Counters:
    update: int = 0
    epoch: int = 1
    position: int = 0  # updates of this epoch already done
    source_tokens: int = 0
    target_tokens: int = 0
    positions: int = 0  # of both sides, padding included
    flops: float = 0.0  # as nmt.models.flops counts them
    seconds: float = 0.0  # of training, over all interruptions
    device_seconds: float = 0.0  # the same, times the number of processes
    cpu_seconds: float = 0.0  # CPU time of the first process, times their number: what other work does not add to
    best_dev_nll: float = float("inf")
    intervals_since_best: int = 0
    skipped: int = 0  # updates left out because their gradient was no number
    skipped_in_a_row: int = 0
    # Code and machine of each call that made updates, in their order
    made_by: list[dict] = field(default_factory=list)

    def begin(self, share: Share) -> None:
        """One more update, which learns from `share`."""
        self.update += 1
        self.epoch, self.position = share.epoch, share.position
        self.source_tokens += share.source_tokens
        self.target_tokens += share.target_tokens
        self.positions += share.positions

    def spend(self, seconds: float, cpu_seconds: float, processes: int) -> None:
        self.seconds += seconds
        self.device_seconds += seconds * processes
        self.cpu_seconds += cpu_seconds * processes


def fingerprint(settings: dict) -> str:
    """Names a training: what its configuration chooses and the data, but no code, so neither what the defaults are."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def record_settings(folder: Path, settings: dict) -> None:
    """Writes settings.json; raises UserError where the training there was begun with other settings: a default that
    was changed."""
    path, settings = folder / "settings.json", json.loads(json.dumps(settings))
    begun = read_json(path) if path.exists() else settings
    for part in ("model", "training"):
        for key, value in begun[part].items():
            if key in settings[part] and settings[part][key] != value:
                raise UserError(
                    f"the training in {folder} was begun with {key} {value}, which is {settings[part][key]} now: "
                    "move the folder away, or take the change back."
                )
    write_json(path, settings)


@contextmanager
def locked(folder: Path, wait: bool) -> Iterator[None]:
    """Holds the folder for this process, and waits, or raises UserError, while another process holds it. Freed when the
    process ends, however."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if not wait:
                raise UserError(f"another process is training in {folder}: stop it, or wait until it ends.") from None
            logging.info(f"another process is training in {folder}: waiting until it ends.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def save_state(path: Path, learner: Learner, counters: Counters, identity: str) -> None:
    """Called by all processes, written by the first."""
    tensors = {f"model.{name}": tensor for name, tensor in parameters(learner.model).items()}
    for name, parameter in learner.model.named_parameters():
        for key, value in learner.optimizer.state[parameter].items():
            tensors[f"optimizer.{name}.{key}"] = value
    tensors["sums"] = learner.processes.total(learner.sums)
    if learner.processes.first:
        metadata = {"counters": asdict(counters), "scaler": learner.scaler.state_dict(), "fingerprint": identity}
        save_tensors(path, tensors, metadata)


def require_space(folder: Path, learner: Learner) -> None:
    """Raises UserError when the disk has no room for all that the folder may come to hold."""
    weights = sum(parameter.nbytes for parameter in parameters(learner.model).values())
    moments = 0 if learner.settings.optimizer == "sgd" else 2
    # A new checkpoint or state is whole before the old one goes; the best two may be none of the last.
    needed = (learner.settings.average + 3) * weights + 2 * (1 + moments) * weights
    there = sum(path.stat().st_size for path in folder.rglob("*.safetensors"))
    free = shutil.disk_usage(folder).free
    if needed - there > free:
        raise UserError(
            f"training takes up to {needed / 1e9:.2g} GB in {folder}, {free / 1e9:.2g} GB are free there: make room."
        )


def load_state(path: Path, learner: Learner, identity: str) -> Counters:
    """Restores the learner where there is a state; raises UserError when it is another training's."""
    if not path.exists():
        return Counters()
    tensors, metadata = load_tensors(path)
    if metadata["fingerprint"] != identity:
        raise UserError(
            f"{path} belongs to another configuration or other data: move it away, or train in another folder."
        )
    groups: dict[str, dict[str, torch.Tensor]] = {"model": {}, "optimizer": {}}
    sums = tensors.pop("sums")
    for name, tensor in tensors.items():
        group, _, rest = name.partition(".")
        groups[group][rest] = tensor
    set_parameters(learner.model, groups["model"])
    for name, parameter in learner.model.named_parameters():
        learner.optimizer.state[parameter] = {
            key.rpartition(".")[2]: value.to(parameter.device)  # fused Adam keeps its step count there too
            for key, value in groups["optimizer"].items()
            if key.rpartition(".")[0] == name
        }
    learner.scaler.load_state_dict(metadata["scaler"])
    if learner.processes.first:
        learner.sums.copy_(sums)
    counters = Counters(**metadata["counters"])
    logging.info(f"going on from update {counters.update}")
    return counters
