"""Fixtures that many tests share."""

import os

# Small tensors gain nothing from threads, and threads that wait for a busy core lose much. Read
# when torch loads.
os.environ["OMP_NUM_THREADS"] = "1"

import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
import yaml
from tabulate import tabulate

ROOT = Path(__file__).resolve().parents[1]

# What a shell starts in the background ignores interrupts, and so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of corpora beside the repository; tests that need it are skipped where it is
    absent.
    """
    folder = ROOT.parent / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip(f"needs the corpora in {folder}")
    return folder


@pytest.fixture(scope="session")
def run_script() -> Callable[..., subprocess.CompletedProcess]:
    """run_script("train", "--seed", 1, env={...}) runs src/train.py and returns what came of it, as
    text.
    """

    def run(
        name: str, *args: object, env: dict[str, str] | None = None, **options
    ) -> subprocess.CompletedProcess:
        start = ["-m", name] if "." in name else [ROOT / "src" / f"{name}.py"]
        command = [sys.executable, *start, *args]
        return subprocess.run(
            list(map(str, command)),
            env={**os.environ, **(env or {})},
            capture_output=True,
            encoding="utf-8",
            timeout=300,
            **options,
        )

    return run


@pytest.fixture(scope="session")
def run_module(run_script) -> Callable[..., subprocess.CompletedProcess]:
    """run_module("nmt.benchmarks.measure_training", ...) runs python -m with the package in src."""
    return partial(run_script, env={"PYTHONPATH": str(ROOT / "src")})


@pytest.fixture(scope="session")
def run_failing(run_script) -> Callable[..., str]:
    """Like run_script, for bad input: the script must end with code 1 and one line of error, which
    is returned.
    """

    def run(*args: object, **options) -> str:
        done = run_script(*args, **options)
        assert done.returncode == 1, done
        assert done.stdout == ""
        assert done.stderr.startswith("error: "), done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    return run


@pytest.fixture
def agrees(record_property) -> Callable[..., None]:
    """agrees(row, reference, ours, theirs): tensors, or numbers, of one shape that differ by at
    most 1e-5 anywhere.

    The largest difference is kept for the table that pytest ends with, whether it is small enough
    or not.
    """
    import torch  # not above, for the sake of tests that do without

    def compare(row: str, reference: str, ours, theirs) -> None:
        ours, theirs = (torch.as_tensor(each, dtype=torch.float64) for each in (ours, theirs))
        assert ours.shape == theirs.shape
        difference = (ours - theirs).abs().max().item()
        record_property("agreement", (row, reference, difference))
        assert difference <= 1e-5, f"{row}: {reference} differs"  # NaN is not

    return compare


def pytest_terminal_summary(terminalreporter) -> None:
    """Prints what `agrees` found, as a table in Markdown."""
    calls = [
        each
        for some in terminalreporter.stats.values()
        for each in some
        if getattr(each, "when", "") == "call"
    ]
    found = sorted(
        value for call in calls for name, value in call.user_properties if name == "agreement"
    )
    if found:
        terminalreporter.section("agreement with other implementations on shared weights")
        table = [(row, reference, f"{difference:.1e}") for row, reference, difference in found]
        headers = ["row", "reference", "largest difference"]
        terminalreporter.write_line(
            tabulate(table, headers, tablefmt="github", disable_numparse=True)
        )


@pytest.fixture
def catalog(tmp_path) -> Callable[..., Path]:
    """catalog(corpora, vocabularies) writes a catalog of these entries and returns its folder."""

    def write(corpora: dict | None = None, vocabularies: dict | None = None) -> Path:
        folder = tmp_path / "catalog"
        (folder / "experiments").mkdir(parents=True)
        for name, values in {
            "corpora": corpora or {},
            "experiments/rows": {"vocabularies": vocabularies or {}},
            "published": [],
        }.items():
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        return folder

    return write
