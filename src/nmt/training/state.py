"""What a training starts from: its own last state, as if nothing had happened, or a model."""

import logging
import math
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path

from nmt.configuration import Experiment, Training, validated
from nmt.data.batch import UpdateBatch
from nmt.errors import UserError
from nmt.files import checksum, read_json
from nmt.models.protocol import Model
from nmt.models.weights import load_tensors, parameters, save_tensors, set_parameters
from nmt.text.subwords import SubwordPair
from nmt.training.trainer import Trainer

MOST_SKIPPED = 10  # updates in a row
FREE = re.compile(r".*dropout|init_|positions_std")  # keys that matter to training alone


@dataclass
class Counters:
    """Counts since the first update; seconds are of training, validation included.

    The names of the fields are keys of saved states.
    """

    update: int = 0
    epoch: int = 1
    update_in_epoch: int = 0  # updates done in this epoch
    target_tokens: int = 0
    flops: float = 0.0  # as nmt.models.flops counts them
    seconds: float = 0.0
    device_seconds: float = 0.0  # seconds times the number of ranks
    dev_nll: float = 0.0  # of the last interval
    best_dev_nll: float = math.inf
    intervals_since_best: int = 0
    skipped: int = 0  # updates whose gradient was NaN or infinite
    skipped_in_a_row: int = 0
    # Code and machine of each call that made updates, in their order
    made_by: list[dict] = field(default_factory=list)

    def begin(self, batch: UpdateBatch) -> None:
        """Count one more update, which learns from `batch`."""
        self.update += 1
        self.epoch = batch.epoch
        self.update_in_epoch = batch.update_in_epoch
        self.target_tokens += batch.target_tokens

    def count_skipped(self, gradient_norms: list[float]) -> None:
        """Count the updates that were skipped, of the last ones with these norms.

        Raises UserError when MOST_SKIPPED in a row were skipped.
        """
        for norm in gradient_norms:
            is_skipped = not math.isfinite(norm)
            self.skipped += is_skipped
            self.skipped_in_a_row = self.skipped_in_a_row + 1 if is_skipped else 0
            if self.skipped_in_a_row == MOST_SKIPPED:
                raise UserError(
                    f"the gradient was NaN or infinite in {MOST_SKIPPED} updates in a row, up to"
                    f" update {self.update} or just before: lower the learning rate."
                )

    def record_dev_nll(self, nll: float) -> None:
        """Note the dev set's negative log-likelihood after one more interval."""
        self.dev_nll = nll
        self.intervals_since_best += 1
        if nll < self.best_dev_nll:
            self.best_dev_nll, self.intervals_since_best = nll, 0

    def is_finished(self, settings: Training) -> bool:
        """Return whether all updates are done, or patience has run out."""
        patience = settings.patience
        out_of_patience = patience is not None and self.intervals_since_best >= patience
        return self.update >= settings.updates or out_of_patience


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


def initialize(model: Model, experiment: Experiment, subwords: SubwordPair, folder: Path) -> str:
    """Give a model the weights of a trained one's folder, and return their checksum.

    Raises UserError where that has another architecture or other subwords.
    """
    path = folder / "configuration.json"
    own = validated(Experiment, read_json(path, ["experiment"])["experiment"], str(path)).model
    mine = experiment.model.model_dump()
    for key, value in own.model_dump().items():
        if not FREE.match(key) and mine.get(key) != value:
            raise UserError(f"initialize_from: {key} of {folder} is {value}, here {mine.get(key)}.")
    if SubwordPair.load(folder).checksums != subwords.checksums:
        raise UserError(f"initialize_from: {folder} has other subwords than the tokens here.")
    set_parameters(model, load_tensors(folder / "model.safetensors")[0])
    return checksum(folder / "model.safetensors")
