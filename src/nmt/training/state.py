"""All that training needs to go on as if nothing had happened, in one file."""

import logging
from dataclasses import asdict
from pathlib import Path

from nmt.errors import UserError
from nmt.models.weights import load_tensors, parameters, save_tensors, set_parameters
from nmt.training.counters import Counters
from nmt.training.trainer import Trainer


def save_state(path: Path, trainer: Trainer, counters: Counters, fingerprint: str) -> None:
    """Write the state whole or not at all; called by all ranks, written by the first."""
    tensors = {f"model.{name}": tensor for name, tensor in parameters(trainer.model).items()}
    for name, parameter in trainer.model.named_parameters():
        for key, value in trainer.optimizer.state[parameter].items():
            tensors[f"optimizer.{name}.{key}"] = value
    tensors["sums"] = trainer.group.sum(trainer.sums)
    if trainer.group.is_main:
        metadata = {
            "counters": asdict(counters),
            "scaler": trainer.scaler.state_dict(),
            "fingerprint": fingerprint,
        }
        save_tensors(path, tensors, metadata)


def load_state(path: Path, trainer: Trainer, fingerprint: str) -> Counters:
    """Restore the trainer where there is a state, and return its counters.

    Raises UserError when it is another training's.
    """
    if not path.exists():
        return Counters()
    remedy = f"put a copy of it there, or delete {path.parent} to train again from the first update"
    tensors, metadata = load_tensors(path, remedy)
    if metadata["fingerprint"] != fingerprint:
        raise UserError(
            f"{path} belongs to another configuration or other data: move it away, or train in"
            " another folder."
        )
    sums = tensors.pop("sums")
    weights = {name: tensors[f"model.{name}"] for name in parameters(trainer.model)}
    set_parameters(trainer.model, weights)
    for name, parameter in trainer.model.named_parameters():
        prefix = f"optimizer.{name}."
        trainer.optimizer.state[parameter] = {
            # Fused Adam keeps its step count on the device too. A view of the file would keep its
            # room on the disk taken after the next state has replaced it.
            key.removeprefix(prefix): value.to(parameter.device, copy=True)
            for key, value in tensors.items()
            if key.startswith(prefix)
        }
    trainer.scaler.load_state_dict(metadata["scaler"])
    if trainer.group.is_main:
        trainer.sums.copy_(sums)
    counters = Counters(**metadata["counters"])
    logging.info(f"going on from update {counters.update}")
    return counters
