"""Trainings that are killed, resumed, and compared with uninterrupted ones."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nmt.training.metrics import read_metrics
from tests.support import tiny_training
from tests.support.files import SOURCE

LONGEST = 900  # seconds that anything may take on a busy machine

# Loaded by a training before anything else: sends KILL_SIGNAL to its process group before or after
# a file or folder gets its name.
SABOTAGE = """
import os

when, what = os.environ.pop("KILL_POINT", "never ").split(" ", 1)
number = int(os.environ.pop("KILL_SIGNAL", 0))
replace = os.replace

def replacing(source, target):
    here = str(target).endswith(what)
    if here and when == "before":
        os.killpg(0, number)
    replace(source, target)
    if here and when == "after":
        os.killpg(0, number)

if when != "never":
    os.replace = replacing
"""


@dataclass(frozen=True)
class Point:
    """When a training is killed: at an update, or as SABOTAGE does `at` a file."""

    signal: signal.Signals
    update: int = 0
    at: str = ""


class Trainings:
    """Trainings of the tiny Transformer, each of them compared with an uninterrupted one."""

    def __init__(self, folder: Path, **training: object):
        self.folder = tiny_training.prepare(folder, **training)
        (folder / "sitecustomize.py").write_text(SABOTAGE)
        self.whole = folder / "whole"
        assert self.start(self.whole).wait(LONGEST) == 0, log_of(self.whole)

    def start(self, output: Path, point: Point | None = None) -> subprocess.Popen:
        """Start train.py, in a process group of its own."""
        train = [sys.executable, SOURCE / "train.py", *tiny_training.arguments(self.folder, output)]
        variables = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
        if point and point.at:
            path = f"{self.folder}{os.pathsep}{os.getenv('PYTHONPATH', '')}"
            number = str(int(point.signal))
            variables |= {"PYTHONPATH": path, "KILL_POINT": point.at, "KILL_SIGNAL": number}
        with open(f"{output}.log", "a") as log:
            return subprocess.Popen(
                train, env=variables, stdout=log, stderr=log, start_new_session=True
            )

    def interrupted(self, output: Path, point: Point) -> int:
        """Kill at `point`, resume until done, and return how the first call ended."""
        process = self.start(output, point)
        if point.update:
            wait_for(lambda: last_update(output) >= point.update or process.poll() is not None)
            os.killpg(process.pid, point.signal)
        ended = process.wait(LONGEST)
        assert self.start(output).wait(LONGEST) == 0, log_of(output)
        return ended


def contents(run: Path) -> dict[str, str]:
    """Return what must be the same.

    Checkpoints, those of the state too, byte for byte; the rest but for times and places.
    """
    checkpoints = [*run.glob("checkpoints/*.*"), *run.glob("state-*/checkpoints/*.*")]
    parts = {
        str(path.relative_to(run)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in checkpoints
    }
    free = {"seconds", "device_seconds", "tokens_per_second", "mfu", "made_by"}
    for name in ("metrics.jsonl", "training.json"):
        text = (run / name).read_text() if (run / name).exists() else ""
        lines = text.splitlines() if name == "metrics.jsonl" else [text] * bool(text)
        values = [json.loads(line).items() for line in lines]
        kept = [{key: value for key, value in line if key not in free} for line in values]
        parts[name] = json.dumps(kept)
    parts["left over"] = str(sorted(path.name for path in run.rglob(".*.partial")))
    return parts


def last_update(run: Path) -> int:
    """Return the update of the last line that training logged."""
    lines = [line for file in run.glob("state-*/metrics.jsonl") for line in read_metrics(file)]
    return lines[-1]["update"] if lines else 0


def log_of(run: Path) -> str:
    """Return what all calls of a training said."""
    return Path(f"{run}.log").read_text()


def wait_for(true: Callable[[], bool], seconds: float = LONGEST) -> None:
    """Wait until the function returns a true value."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"nothing came of it in {seconds} s")
        time.sleep(0.01)
