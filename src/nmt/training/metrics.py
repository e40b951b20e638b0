"""A training's log: one JSON object per line in metrics.jsonl, the same numbers for TensorBoard."""

import gzip
import json
import os
import threading
import zlib
from pathlib import Path

from nmt.errors import UserError
from nmt.files import write_lines

# What to do about a damaged settings.json, or log, in a state's folder
SETTINGS_REMEDY = "delete it: training writes it again, from the configuration"
REMEDY = (
    "put a copy of it there (a finished run has one beside its checkpoints), or delete it: the"
    " training goes on, and its learning curves begin there"
)


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

        threading.excepthook = print_error_of_thread
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


def print_error_of_thread(error: threading.ExceptHookArgs) -> None:
    """Print the error that has ended a thread, unless TensorBoard's writer raises it again."""
    if error.thread is None or not type(error.thread).__module__.startswith("tensorboard."):
        threading.__excepthook__(error)


def read_metrics(path: Path, remedy: str = REMEDY) -> list[dict]:
    """Return all whole lines; a kill may have left half of the last one.

    path: of a log, or of one compressed by gzip. remedy: what brings the file back. Raises
    UserError for any other line that is none of a log.
    """
    if not path.exists():
        return []
    content = path.read_bytes()
    if path.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error) as error:
            raise UserError(f"{path} is damaged ({error}): {remedy}.") from None
    *lines, last = content.split(b"\n")
    # A power cut may leave bytes of zero.
    is_unfinished = parsed(last) is None and (last.startswith(b"{") or not last.strip(b"\0"))
    entries = []
    for number, line in enumerate(lines if is_unfinished else [*lines, last], start=1):
        entry = parsed(line)
        if entry is None:
            raise UserError(f"{path} is damaged at line {number}: {remedy}.")
        entries.append(entry)
    return entries


def parsed(line: bytes) -> dict | None:
    """Return what a line of a log says, or None for what is no such line."""
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and "update" in entry else None
