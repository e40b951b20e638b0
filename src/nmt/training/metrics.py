"""A training's log: one JSON object per line in metrics.jsonl, the same numbers for TensorBoard."""

import json
import os
from pathlib import Path

from nmt.errors import UserError
from nmt.files import write_lines


class Metrics:
    """The writer of a training's log.

    On resuming it forgets the lines later than the state, which will be written again.
    TensorBoard's files are in the folder tensorboard of the run, whose name is what TensorBoard
    shows. Without a path nothing is written: another process does it.
    """

    def __init__(self, path: Path | None, update: int):
        self.path = path
        if path is None:
            return
        kept = [line for line in read_metrics(path) if line["update"] <= update]
        write_lines(path, map(json.dumps, kept))
        self.file = open(path, "a", buffering=1)  # noqa: SIM115 - open as long as training goes on
        # Imported here: those who read metrics need no torch.
        from torch.utils.tensorboard import SummaryWriter

        self.board = SummaryWriter(path.parents[1] / "tensorboard", purge_step=update + 1)

    def write(self, update: int, **values: float) -> None:
        """Write one line, and the numbers for TensorBoard."""
        if self.path is None:
            return
        self.file.write(json.dumps({"update": update, **values}) + "\n")
        for name, value in values.items():
            self.board.add_scalar(name, value, update)

    def flush_to_disk(self) -> None:
        """Write all lines to the disk itself, before a state is written.

        What the state counts must outlast a power cut as it does.
        """
        if self.path is not None:
            os.fsync(self.file.fileno())
            self.board.flush()


def read_metrics(path: Path) -> list[dict]:
    """Return all whole lines; a kill may have left half of the last one.

    Raises UserError for any other line that is none of a log.
    """
    if not path.exists():
        return []
    entries = []
    lines = path.read_bytes().splitlines()
    for number, line in enumerate(lines, start=1):
        try:
            entry = json.loads(line)
            entry["update"]
            entries.append(entry)
        except (ValueError, TypeError, KeyError):
            if number < len(lines):
                raise UserError(f"{path} is damaged at line {number}: delete it.") from None
    return entries
