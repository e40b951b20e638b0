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
from tests.support.files import ROOT

LONGEST = 900  # seconds that anything may take on a busy machine
KILL, TERM, INT = signal.SIGKILL, signal.SIGTERM, signal.SIGINT

# Loaded by a training before anything else: sends KILL_SIGNAL to its process group before or after
# a file or folder gets its name, or before the n-th flush to disk.
SABOTAGE = """
import os

when, what = os.environ.pop("KILL_POINT", "never ").split(" ", 1)
number = int(os.environ.pop("KILL_SIGNAL", 0))
replace, flush, flushed = os.replace, os.fsync, 0

def kill():
    os.killpg(0, number)

def replacing(source, target):
    here = str(target).endswith(what)
    if here and when == "before":
        kill()
    replace(source, target)
    if here and when == "after":
        kill()

def flushing(file):
    global flushed
    flushed += 1
    if when == "flush" and flushed == int(what):
        kill()
    flush(file)

if when != "never":
    os.replace, os.fsync = replacing, flushing
"""


@dataclass(frozen=True)
class Point:
    """When a training is killed.

    `seconds` after its start, at `update`, or as SABOTAGE does `at` a file.
    """

    name: str
    signal: signal.Signals
    seconds: float = 0
    update: int = 0
    at: str = ""


class Trainings:
    """Trainings of the tiny rows in folders of their own, each of them compared with an
    uninterrupted one.
    """

    def __init__(self, folder: Path, code: Path = ROOT, **training: object):
        self.folder, self.code = tiny_training.prepare(folder, **training), code
        (folder / "sabotage").mkdir()
        (folder / "sabotage" / "sitecustomize.py").write_text(SABOTAGE)
        self.reference: dict[str, dict[str, str]] = {}

    def start(self, row: str, output: Path, point: Point | None = None) -> subprocess.Popen:
        script = [
            sys.executable,
            self.code / "src" / "train.py",
            *tiny_training.arguments(self.folder, output),
        ]
        variables = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
        if point and point.at:
            path = f"{self.folder / 'sabotage'}{os.pathsep}{os.getenv('PYTHONPATH', '')}"
            variables |= {"PYTHONPATH": path, "KILL_POINT": point.at}
            variables["KILL_SIGNAL"] = str(int(point.signal))
        with open(output.parent / f"{output.name}.log", "a") as log:
            return subprocess.Popen(
                [*script, f"--experiment={row}"],
                env=variables,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def run(self, row: str) -> None:
        output = self.folder / row / "reference" / "seed-1"
        output.parent.mkdir(parents=True)
        assert self.start(row, output).wait(LONGEST) == 0, log_of(output)
        self.reference[row] = contents(output)

    def interrupted(self, row: str, number: int, point: Point) -> tuple[str, int, int, bool]:
        """Kill at `point` and resume until done.

        Returns where it was killed, how it ended, the calls, and whether all is equal.
        """
        output = self.folder / row / f"point-{number}" / "seed-1"
        output.parent.mkdir(parents=True)
        process = self.start(row, output, point)
        if point.seconds:
            time.sleep(point.seconds)
        elif point.update:
            wait_for(lambda: last_update(output) >= point.update or process.poll() is not None)
        if not point.at and process.poll() is None:
            os.killpg(process.pid, point.signal)
        ended = process.wait(LONGEST)
        reached = f"update {last_update(output)}"
        calls, code = 1, ended
        while code != 0 and calls < 5:
            calls += 1
            code = self.start(row, output).wait(LONGEST)
        return reached, ended, calls, code == 0 and contents(output) == self.reference[row]


def contents(run: Path) -> dict[str, str]:
    """Return what must be the same.

    Checkpoints, those of the state too, byte for byte; the rest but for times and places.
    """
    checkpoints = [*run.glob("checkpoints/*.*"), *run.glob("state-*/checkpoints/*.*")]
    parts = {str(path.relative_to(run)): sha256(path) for path in checkpoints}
    free = {"seconds", "device_seconds", "tokens_per_second", "mfu", "memory", "made_by"}
    for name in ("metrics.jsonl", "training.json"):
        text = (run / name).read_text() if (run / name).exists() else ""
        lines = text.splitlines() if name == "metrics.jsonl" else [text] * bool(text)
        values = [json.loads(line).items() for line in lines]
        kept = [{key: value for key, value in line if key not in free} for line in values]
        parts[name] = json.dumps(kept)
    parts["left over"] = str(sorted(path.name for path in run.rglob(".*.partial")))
    return parts


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def last_update(run: Path) -> int:
    """Return the update of the last line that training logged."""
    lines = [line for file in run.glob("state-*/metrics.jsonl") for line in read_metrics(file)]
    return lines[-1]["update"] if lines else 0


def log_of(run: Path) -> str:
    return (run.parent / f"{run.name}.log").read_text()


def wait_for(true: Callable[[], bool], seconds: float = LONGEST) -> None:
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise TimeoutError(f"nothing came of it in {seconds} s")
        time.sleep(0.01)
