"""metrics.jsonl: what happened, one line of JSON a time, read by figures and by `status`."""

import json
import os
from pathlib import Path


class Metrics:
    """Appends lines; on resuming forgets those later than the state, which will be written again.

    Without a path nothing is written: another process does.
    """

    def __init__(self, path: Path | None, update: int):
        if path is None:
            self.file = open(os.devnull, "w")  # noqa: SIM115
            return
        kept = [line for line in read_metrics(path) if line["update"] <= update]
        beside = path.with_suffix(".partial")
        beside.write_text("".join(json.dumps(line) + "\n" for line in kept))
        os.replace(beside, path)
        self.file = open(path, "a", buffering=1)  # noqa: SIM115 - open as long as training goes on

    def write(self, **values: object) -> None:
        self.file.write(json.dumps(values) + "\n")

    def flush_to_disk(self) -> None:
        """Before a state is written: what the state counts as done must outlast a power cut as it does."""
        if self.file.name != os.devnull:
            os.fsync(self.file.fileno())


def read_metrics(path: Path) -> list[dict]:
    """All whole lines; a kill may have left half of the last one."""
    lines = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            lines.append(json.loads(line))
        except ValueError:
            break
    return lines
