"""Fixtures that many tests share."""

import os

# Small tensors gain nothing from threads, and threads that wait for a busy core lose much. Read
# when torch loads.
os.environ["OMP_NUM_THREADS"] = "1"
# Users' output is buffered, and may fail late.
os.environ.pop("PYTHONUNBUFFERED", None)

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import yaml
from tabulate import tabulate

from tests.support.browser import chromium
from tests.support.files import ROOT, SOURCE
from tests.support.scripts import run_program

# What a shell starts in the background ignores interrupts, and what nohup starts a closed terminal:
# so would all that tests start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def run_script() -> Callable[..., CompletedProcess]:
    """run_script("train", "--seed", 1, env={...}) runs src/train.py and returns what came of it.

    It runs in a process of its own that has imported torch already; see support/scripts.py.
    """

    def run(name: str, *arguments: object, **surroundings) -> CompletedProcess:
        return run_program([SOURCE / f"{name}.py", *arguments], **surroundings)

    return run


@pytest.fixture(scope="session")
def start_script() -> Callable[..., CompletedProcess]:
    """Like run_script, in a new interpreter, for tests of what Python does when it starts."""

    def run(name: str, *arguments: object, env: dict[str, str] | None = None) -> CompletedProcess:
        return subprocess.run(
            [sys.executable, SOURCE / f"{name}.py", *map(str, arguments)],
            env={**os.environ, **(env or {})},
            capture_output=True,
            encoding="utf-8",
            timeout=300,
        )

    return run


@pytest.fixture(scope="session")
def run_failing(run_script) -> Callable[..., str]:
    """Like run_script, for bad input: return the one line of error with which the script ends."""

    def run(*arguments: object, **surroundings) -> str:
        process = run_script(*arguments, **surroundings)
        assert process.returncode == 1, process
        assert process.stdout == ""
        assert process.stderr.startswith("error: "), process.stderr
        assert process.stderr.count("\n") == 1, process.stderr
        return process.stderr

    return run


def pytest_configure(config) -> None:
    """Hide GPUs, but for `pytest -m gpu`.

    One is what all tests would share, and results on it are not those of a CPU bit for bit.
    """
    if config.getoption("markexpr") != "gpu":
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


def pytest_collection_modifyitems(items) -> None:
    """Start files that take minutes first, so that all workers have work to the end."""
    order = {"scripts": 1, "unit": 2}
    items.sort(key=lambda item: order.get(item.path.relative_to(ROOT / "tests").parts[0], 0))


@pytest.fixture
def agrees(record_property) -> Callable[..., None]:
    """Return agrees(name, reference, ours, theirs), which fails where the two differ by over 1e-5.

    ours, theirs: tensors of one shape, or numbers.

    The largest difference is kept for the table that pytest ends with, whether it is small enough
    or not.
    """
    import torch  # not above, for the sake of tests that do without

    def compare(name: str, reference: str, ours, theirs) -> None:
        ours = torch.as_tensor(ours, dtype=torch.float64)
        theirs = torch.as_tensor(theirs, dtype=torch.float64)
        assert ours.shape == theirs.shape
        difference = (ours - theirs).abs().max().item()
        record_property("agreement", (name, reference, difference))
        assert difference <= 1e-5, f"{name}: {reference} differs"  # NaN is not

    return compare


def pytest_terminal_summary(terminalreporter) -> None:
    """Print what was skipped and why, and the differences that `agrees` has kept, in Markdown."""
    skipped = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", ()))
    for reason, count in skipped.items():
        terminalreporter.write_line(f"{count} skipped: {reason.removeprefix('Skipped: ')}")
    reports = [report for group in terminalreporter.stats.values() for report in group]
    calls = [report for report in reports if getattr(report, "when", "") == "call"]
    properties = [item for call in calls for item in call.user_properties]
    agreements = sorted(value for name, value in properties if name == "agreement")
    if agreements:
        terminalreporter.section("agreement with other implementations on shared weights")
        table = [
            (name, reference, f"{difference:.1e}") for name, reference, difference in agreements
        ]
        headers = ["here", "reference", "largest difference"]
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
            "experiments/rows": {"vocabularies": vocabularies or {}, "experiments": {"base": {}}},
            "published": [],
        }.items():
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        return folder

    return write


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """A browser that the tests of a file share."""
    with chromium() as started:
        yield started


@pytest.fixture
def tiny_disk(tmp_path) -> Iterator[Path]:
    """A folder with room for 8,192 bytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8k", "none", disk]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("needs the right to mount a small disk")
    yield disk
    subprocess.run(["umount", disk], check=True)
