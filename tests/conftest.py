"""Fixtures that many tests share."""

import os

# Small tensors gain nothing from threads, and threads that wait for a busy core lose much. Read when torch loads.
os.environ["OMP_NUM_THREADS"] = "1"

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of corpora beside the repository; tests that need it are skipped where it is absent."""
    folder = ROOT.parent / "shared" / "corpora"
    if not folder.is_dir():
        pytest.skip(f"needs the corpora in {folder}")
    return folder


@pytest.fixture(scope="session")
def run_script() -> Callable[..., subprocess.CompletedProcess]:
    """run_script("train", "--seed", 1, env={...}) runs src/train.py and returns what came of it, as text."""

    def run(name: str, *args: object, env: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess:
        command = [sys.executable, ROOT / "src" / f"{name}.py", *args]
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
def run_failing(run_script) -> Callable[..., str]:
    """Like run_script, for bad input: the script must end with code 1 and one line of error, which is returned."""

    def run(*args: object, **options) -> str:
        done = run_script(*args, **options)
        assert done.returncode == 1, done
        assert done.stdout == ""
        assert done.stderr.startswith("error: "), done.stderr
        assert done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    return run


@pytest.fixture
def catalogue(tmp_path) -> Callable[..., Path]:
    """catalogue(corpora, vocabularies) writes a catalogue of these entries and returns its folder."""

    def write(corpora: dict | None = None, vocabularies: dict | None = None) -> Path:
        folder = tmp_path / "catalogue"
        folder.mkdir()
        experiments = {"vocabularies": vocabularies or {}, "experiments": {}}
        for name, values in {"corpora": corpora or {}, "experiments": experiments, "published": []}.items():
            (folder / f"{name}.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
        return folder

    return write
