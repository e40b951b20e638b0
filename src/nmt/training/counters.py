"""What a training has done so far and what it cost, over all interruptions."""

from dataclasses import dataclass, field

from nmt.configuration import Training
from nmt.data.batch import UpdateBatch

FORMER = {
    "position": "update_in_epoch",
    "positions": "padded_tokens",
    "logged_positions": "logged_padded_tokens",
}


@dataclass
class Counters:
    """Counts since the first update; seconds are of training, validation included.

    The names of the fields are keys of saved states, which FORMER renames.
    """

    update: int = 0
    epoch: int = 1
    update_in_epoch: int = 0  # updates done in this epoch
    source_tokens: int = 0
    target_tokens: int = 0
    padded_tokens: int = 0  # of both sides, padding included
    # Tokens of both sides, without padding and with it, at the last line of metrics.jsonl
    logged_tokens: int = 0
    logged_padded_tokens: int = 0
    flops: float = 0.0  # as nmt.models.flops counts them
    seconds: float = 0.0
    device_seconds: float = 0.0  # seconds times the number of ranks
    # CPU time of the first rank, times their number: other work on the machine does not add to it
    cpu_seconds: float = 0.0
    dev_nll: float = 0.0  # of the last interval; states of earlier versions do not have it
    best_dev_nll: float = float("inf")
    intervals_since_best: int = 0
    skipped: int = 0  # updates whose gradient was NaN or infinite
    skipped_in_a_row: int = 0
    # Code and machine of each call that made updates, in their order
    made_by: list[dict] = field(default_factory=list)

    @classmethod
    def of_state(cls, saved: dict) -> "Counters":
        """Return the counters of a saved state, whose keys may be an earlier version's."""
        return cls(**{FORMER.get(name, name): value for name, value in saved.items()})

    def begin(self, batch: UpdateBatch) -> None:
        """Count one more update, which learns from `batch`."""
        self.update += 1
        self.epoch = batch.epoch
        self.update_in_epoch = batch.update_in_epoch
        self.source_tokens += batch.source_tokens
        self.target_tokens += batch.target_tokens
        self.padded_tokens += batch.padded_tokens

    def spend(self, seconds: float, cpu_seconds: float, world_size: int) -> None:
        """Count time, of the wall clock and of this rank's CPU."""
        self.seconds += seconds
        self.device_seconds += seconds * world_size
        self.cpu_seconds += cpu_seconds * world_size

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
