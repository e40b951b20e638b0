"""Copies of the repository, and snakemake in them."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import cache_from_source
from pathlib import Path

from tests.support.files import ROOT
from tests.support.scripts import run_program

TINY = "tests/workflow/tiny/reproduction.yaml"


def copy_repository(folder: Path) -> Path:
    """Copy all files that git knows or would add to `folder`, with their bytecode; return it."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        check=True,
        text=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
            copy_bytecode(name, folder)
    return folder


def copy_bytecode(name: str, folder: Path) -> None:
    """Copy a module's bytecode, where there is any: it is valid because times are copied too."""
    if name.endswith(".py"):
        cached = cache_from_source(name)
        with contextlib.suppress(FileNotFoundError):
            (folder / cached).parent.mkdir(exist_ok=True)
            shutil.copy2(ROOT / cached, folder / cached)


SETTINGS = ["--workflow-profile", str(ROOT / "tests/workflow/profile")]


def command(*arguments: object) -> list[str]:
    """Return Snakemake's command line."""
    return [sys.executable, "-m", "snakemake", *SETTINGS, *map(str, arguments)]


def environment(folder: Path) -> dict[str, str]:
    """Return the variables of an activated environment; caches go beside `folder`."""
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("SNAKEMAKE", "NMT_"))
    }
    ours = {"OMP_WAIT_POLICY": "PASSIVE", "XDG_CACHE_HOME": str(folder.parent / "cache")}
    ours["PYTHONPATH"] = str(folder / "src")  # not of the repository that is installed
    return kept | ours


def snakemake(
    folder: Path, *arguments: str, configuration: str = TINY
) -> subprocess.CompletedProcess:
    """Run snakemake in `folder` on two cores; all that it prints is in stdout."""
    return subprocess.run(
        command(*arguments, "--cores", 2, "--configfile", configuration),
        cwd=folder,
        env=environment(folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=1800,
    )


def dry_run(
    folder: Path, *arguments: str, configuration: str = TINY
) -> subprocess.CompletedProcess:
    """Do a dry run as snakemake() runs, without the time of importing snakemake."""
    options = [*SETTINGS, "--dry-run", *arguments, "--cores", 2, "--configfile", configuration]
    return run_program(
        ["-m", "snakemake", *options],
        environment=environment(folder),
        cwd=folder,
        stderr_to_stdout=True,
    )


def planned_jobs(folder: Path, *arguments: str, configuration: str = TINY) -> set[str]:
    """Return what a dry run would do, as "train corpus=tiny, experiment=tiny-rnnsearch, seed=1"."""
    process = dry_run(folder, *arguments, configuration=configuration)
    assert process.returncode == 0, process.stdout
    blocks = re.findall(r"^(?:local)?rule (\S+):\n((?:    .*\n)*)", process.stdout, re.MULTILINE)
    jobs = set()
    for name, block in blocks:
        wildcards = re.search(r"^    wildcards: (.*)$", block, re.MULTILINE)
        jobs.add(f"{name} {wildcards.group(1)}" if wildcards else name)
    return jobs


@contextlib.contextmanager
def restored(*paths: Path) -> Iterator[None]:
    """Give files back their bytes and times in the end."""
    before = [(path, path.read_bytes(), path.stat()) for path in paths]
    try:
        yield
    finally:
        for path, content, status in before:
            path.write_bytes(content)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


@contextlib.contextmanager
def edited(path: Path, old: str, new: str) -> Iterator[None]:
    """Let a text be in a file where another one was."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1
    with restored(path):
        path.write_text(text.replace(old, new), encoding="utf-8")
        yield
