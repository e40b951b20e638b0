"""All that training needs to go on as if nothing had happened, in one file, and the folder it lives in."""

import fcntl
import hashlib
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from torch import nn

from nmt.errors import UserError
from nmt.models.weights import load_tensors, parameters, save_tensors, set_parameters


@dataclass
class Counters:
    update: int = 0
    epoch: int = 1
    position: int = 0  # batches of this epoch already used
    target_tokens: int = 0
    seconds: float = 0.0  # of training, over all interruptions
    best_dev_nll: float = float("inf")
    intervals_since_best: int = 0
    # Sums since the last line of metrics.jsonl
    loss: float = 0.0
    nll: float = 0.0
    tokens: int = 0
    gradient_norm: float = 0.0
    # Code and machine of each call that made updates, in their order
    made_by: list[dict] = field(default_factory=list)


def fingerprint(settings: dict) -> str:
    """Names a training exactly: the resolved settings and the data, but no code."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder for this process; waits while another process holds it. Freed when the process ends, however."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            logging.info(f"another process is training in {folder}: waiting until it ends.")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def save_state(
    path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, counters: Counters, identity: str
) -> None:
    tensors = {f"model.{name}": tensor for name, tensor in parameters(model).items()}
    for name, parameter in model.named_parameters():
        for key, value in optimiser.state[parameter].items():
            tensors[f"optimiser.{name}.{key}"] = value
    tensors["random.cpu"] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors["random.cuda"] = torch.cuda.get_rng_state()
    save_tensors(path, tensors, {"counters": asdict(counters), "fingerprint": identity})


def load_state(path: Path, model: nn.Module, optimiser: torch.optim.Optimizer, identity: str) -> Counters:
    """Restores model, optimiser and random streams; raises UserError when the state is another training's."""
    tensors, metadata = load_tensors(path)
    if metadata["fingerprint"] != identity:
        raise UserError(
            f"{path} belongs to another configuration or other data: move it away, or train in another folder."
        )
    groups: dict[str, dict[str, torch.Tensor]] = {"model": {}, "optimiser": {}, "random": {}}
    for name, tensor in tensors.items():
        group, _, rest = name.partition(".")
        groups[group][rest] = tensor
    set_parameters(model, groups["model"])
    for name, parameter in model.named_parameters():
        optimiser.state[parameter] = {
            key.rpartition(".")[2]: value.to(parameter.device)  # fused Adam keeps its step count there too
            for key, value in groups["optimiser"].items()
            if key.rpartition(".")[0] == name
        }
    torch.set_rng_state(groups["random"]["cpu"])
    if torch.cuda.is_available() and "cuda" in groups["random"]:
        torch.cuda.set_rng_state(groups["random"]["cuda"])
    return Counters(**metadata["counters"])
