"""What happened, one line of JSON a time in metrics.jsonl, and the same numbers for TensorBoard."""

import json
import os
from pathlib import Path

from nmt.files import write_lines


class Metrics:
    """Appends lines; on resuming forgets those later than the state, which will be written again.

    TensorBoard's files are in the folder tensorboard beside metrics.jsonl. Without a path nothing
    is written: another process does.
    """

    def __init__(self, path: Path | None, update: int):
        self.path = path
        if path is None:
            return
        kept = [line for line in read_metrics(path) if line["update"] <= update]
        write_lines(path, map(json.dumps, kept))
        self.file = open(path, "a", buffering=1)  # noqa: SIM115 - open as long as training goes on
        from torch.utils.tensorboard import (
            SummaryWriter,
        )  # not above: those who read metrics need no torch

        self.board = SummaryWriter(path.parent / "tensorboard", purge_step=update + 1)

    def write(self, update: int, **values: object) -> None:
        if self.path is None:
            return
        self.file.write(json.dumps({"update": update, **values}) + "\n")
        for name, value in values.items():
            if isinstance(value, int | float):
                self.board.add_scalar(name, value, update)

    def flush_to_disk(self) -> None:
        """Before a state is written: what the state counts as done must outlast a power cut as it
        does.
        """
        if self.path is not None:
            os.fsync(self.file.fileno())
            self.board.flush()


def read_metrics(path: Path) -> list[dict]:
    """All whole lines; a kill may have left half of the last one."""
    lines = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    return lines
