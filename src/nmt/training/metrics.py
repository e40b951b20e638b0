"""A training's log: one JSON object per line in metrics.jsonl, the same numbers for TensorBoard."""

import json
import os
from pathlib import Path

from nmt.files import write_lines


class Metrics:
    """The writer of a training's log.

    On resuming it forgets the lines later than the state, which will be written again.
    TensorBoard's files are in the folder tensorboard beside metrics.jsonl. Without a path nothing
    is written: another process does it.
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

        self.board = SummaryWriter(path.parent / "tensorboard", purge_step=update + 1)

    def write(self, update: int, **values: object) -> None:
        """Write one line; TensorBoard gets its numbers."""
        if self.path is None:
            return
        self.file.write(json.dumps({"update": update, **values}) + "\n")
        for name, value in values.items():
            if isinstance(value, int | float):
                self.board.add_scalar(name, value, update)

    def flush_to_disk(self) -> None:
        """Write all lines to the disk itself, before a state is written.

        What the state counts must outlast a power cut as it does.
        """
        if self.path is not None:
            os.fsync(self.file.fileno())
            self.board.flush()


def read_metrics(path: Path) -> list[dict]:
    """Return all whole lines; a kill may have left half of the last one."""
    if not path.exists():
        return []
    lines = []
    for line in path.read_text().splitlines():
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    return lines
