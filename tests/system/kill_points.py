"""Kills trainings and whole reproductions at many points, resumes them, and compares with
uninterrupted ones.

python -m tests.system.kill_points [--folder FOLDER] prints a table and ends with code 1 when
anything differs.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from tests.support import tiny_training
from tests.support.killed_trainings import (
    INT,
    KILL,
    LONGEST,
    TERM,
    Point,
    Trainings,
    contents,
    sha256,
    wait_for,
)
from tests.support.workflows import TINY, command, copy_repository, environment, snakemake

TRAINING = {"updates": 120, "interval": 20, "bleu_interval": 60, "average": 3, "batch_tokens": 1000}

POINTS = [
    Point("start-up, 0.3 s", TERM, seconds=0.3),
    Point("start-up, 1.5 s", KILL, seconds=1.5),
    Point("first updates", KILL, update=20),
    Point("a third done", TERM, update=40),
    Point("two thirds done", INT, update=80),
    Point("last interval", KILL, update=100),
    Point("checkpoint being written", KILL, at="before checkpoints/00000040.safetensors"),
    Point("checkpoint there, state not", KILL, at="after checkpoints/00000060.safetensors"),
    Point("state being written", TERM, at="before state.safetensors"),
    Point("state being written", KILL, at="before state.safetensors"),
    Point("state just written", INT, at="after state.safetensors"),
    Point("state just written", KILL, at="after state.safetensors"),
    Point("15th flush to disk", KILL, at="flush 15"),
    Point("checkpoints handed over", KILL, at="after seed-1/checkpoints"),
    Point("training.json being written", TERM, at="before training.json"),
]


# Killed one after the other in one copy: when a step begins, some seconds later.
STEPS = [
    ("generate", KILL, 0.3),
    ("normalize", KILL, 0.3),
    ("learn_vocabulary", TERM, 0.2),
    ("binarize", KILL, 0.3),
    ("train", KILL, 2.5),
    ("train", INT, 3.5),
    ("train", TERM, 3.0),
    ("average", KILL, 0.5),
    ("translate", INT, 1.5),
    ("score", KILL, 0.3),
    ("attend", TERM, 0.5),
    ("typeset", KILL, 0.5),
    ("plot", KILL, 0.5),
]
# snakemake alone is killed, its jobs live on
LOST = [("train", 2.5), ("train", 4.0), ("translate", 0.5)]


def make_copy(folder: Path) -> Path:
    copy = copy_repository(folder / "a copy")
    file = copy / "tests" / "workflow" / "tiny" / "experiments" / "tiny.yaml"
    text = file.read_text()
    for key, value in TRAINING.items():
        text = "".join(
            f"    {key}: {value}\n" if line.startswith(f"    {key}: ") else line
            for line in text.splitlines(True)
        )
    file.write_text(text)
    return copy


def steps_running(folder: Path) -> dict[int, str]:
    """Return process ids and names of this copy's scripts that run."""
    names = {}
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            inside = os.readlink(process / "cwd") == str(folder)
        except OSError:
            continue
        if inside and len(words) > 1 and words[1].startswith(b"src/"):
            names[int(process.name)] = words[1].decode().removeprefix("src/").removesuffix(".py")
    return names


@contextmanager
def started(folder: Path) -> Iterator[subprocess.Popen]:
    with open(folder / "snakemake.log", "a") as log:
        process = subprocess.Popen(
            command("--cores", 2, "--configfile", TINY),
            cwd=folder, env=environment(folder), stdout=log, stderr=log, start_new_session=True,
        )  # fmt: skip
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, KILL)
            process.wait()


def killed_during(
    folder: Path, step: str, number: signal.Signals, seconds: float, alone: bool = False
) -> str:
    """Run snakemake until `step` has run for some seconds, kill it, and return what ran then."""
    with started(folder) as process:
        wait_for(lambda: step in steps_running(folder).values() or process.poll() is not None)
        time.sleep(seconds)
        running = ", ".join(sorted(steps_running(folder).values())) or "nothing"
        if process.poll() is not None:
            return f"{running}; it had ended with code {process.returncode}"
        if alone:
            process.send_signal(number)
        else:
            os.killpg(process.pid, number)
        process.wait(LONGEST)
    if alone:
        return (
            f"{running}; lives on: {', '.join(sorted(steps_running(folder).values())) or 'nothing'}"
        )
    try:
        wait_for(lambda: not steps_running(folder), 60)
    except TimeoutError:
        return f"{running}; STILL ALIVE: {steps_running(folder)}"
    return running


def results(folder: Path) -> dict[str, str]:
    """Return what must be the same in two copies."""
    parts = {}
    for run in sorted(folder.glob("results/runs/*/*/seed-*")):
        name = run.parent.name
        parts |= {f"{name}/{key}": value for key, value in contents(run).items()}
        for pattern in (
            "model/model.safetensors",
            "*.translations.txt",
            "*.scores.json",
            "*.perplexity.json",
        ):
            parts |= {f"{name}/{path.relative_to(run)}": sha256(path) for path in run.glob(pattern)}
    for pattern in ("corpora/*/raw/*", "corpora/*/*/subwords/*", "corpora/*/*/tokens/*/*.npy"):
        parts |= {
            str(path.relative_to(folder)): sha256(path)
            for path in folder.glob(f"results/{pattern}")
        }
    for pattern in ("tables/*", "figures/*"):
        parts |= {
            path.name: "there"
            for path in folder.glob(f"results/tiny/{pattern}")
            if path.stat().st_size
        }
    return parts


def differences(actual: dict[str, str], reference: dict[str, str]) -> list[str]:
    return sorted(
        name for name in actual.keys() | reference.keys() if actual.get(name) != reference.get(name)
    )


class Report:
    def __init__(self) -> None:
        self.failed = False
        self.line("killed", "signal", "running", "ended", "calls", "equal")

    def line(
        self, what: str, number: str, running: str, ended="", calls="", equal: object = ""
    ) -> None:
        self.failed |= equal is False
        print(f"{what:46} {number:8} {running:38} {ended!s:>5} {calls!s:>5}  {equal}", flush=True)


def check_trainings(folder: Path, report: Report) -> None:
    trainings = Trainings(
        folder, copy_repository(folder / "code"), **TRAINING
    )  # which nobody edits meanwhile
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(trainings.run, tiny_training.ROWS))
        work = [
            (row, number, point)
            for first, row in enumerate(tiny_training.ROWS)
            for number, point in enumerate(POINTS)
            if first == 0 or number % 2 == first % 2  # the others share them
        ]
        for (row, _, point), outcome in zip(
            work, pool.map(lambda job: trainings.interrupted(*job), work), strict=True
        ):
            report.line(f"{row}, {point.name}", point.signal.name, *outcome)


def check_reproductions(folder: Path, report: Report) -> None:
    reference, killed, lost = (make_copy(folder / name) for name in ("reference", "killed", "lost"))
    assert snakemake(reference).returncode == 0
    expected = results(reference)
    for step, number, seconds in STEPS:
        running = killed_during(killed, step, number, seconds)
        report.line(f"reproduction, {step}", number.name, running)
    finish(killed, expected, len(STEPS), report)
    for step, seconds in LOST:
        running = killed_during(lost, step, KILL, seconds, alone=True)
        report.line(f"snakemake alone, {step}", "SIGKILL", running)
    finish(lost, expected, len(LOST), report)


def finish(folder: Path, expected: dict[str, str], killed: int, report: Report) -> None:
    """Unlock the folder, run the same command again, which must do the rest, and compare."""
    wait_for(lambda: not steps_running(folder))
    snakemake(folder, "--unlock")
    process = snakemake(folder)
    if process.returncode:
        print(process.stdout[-3000:])
    wrong = differences(results(folder), expected)
    files = f"{len(expected)} files"
    report.line("then run to its end", "", files, process.returncode, killed + 1, not wrong)
    if wrong:
        print("\n".join(f"    differs: {name}" for name in wrong))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--folder", type=Path, help="a new folder to work in, kept; a temporary one without it"
    )
    folder = parser.parse_args().folder
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary:
        place = (folder or Path(temporary)).resolve()
        place.mkdir(parents=True, exist_ok=True)
        report = Report()
        (place / "trainings").mkdir()
        check_trainings(place / "trainings", report)
        check_reproductions(place, report)
    print(
        f"{time.monotonic() - began:.0f} s. "
        + ("Something differs." if report.failed else "All is equal.")
    )
    return int(report.failed)


if __name__ == "__main__":
    sys.exit(main())
