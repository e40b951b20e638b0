"""A measurement in a process of its own, which prints what it measured as JSON."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nmt.environment import SETTINGS
from nmt.errors import UserError

SOURCE = Path(__file__).resolve().parents[2]


def run_worker(name: str, command: list, options: dict, source: Path = SOURCE) -> dict:
    """Return what a worker prints as JSON on its last line.

    name: what is measured. command: how the worker is called, up to its first arguments: Python,
    -m and the module. options: values of the remaining arguments. source: the folder that holds the
    package nmt. Raises UserError, with the name, when the worker fails.
    """
    arguments = [f"--{option}={value}" for option, value in options.items()]
    environment = SETTINGS | os.environ | {"PYTHONPATH": str(source)}
    process = subprocess.run(
        [*command, *arguments], stdout=subprocess.PIPE, env=environment, check=False
    )
    if process.returncode:
        raise UserError(
            f"{name} could not be measured by {' '.join(map(str, command))}: see above."
        )
    return json.loads(process.stdout.splitlines()[-1])


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Run processes that compute all the time, as others do on a shared machine."""
    endless = [sys.executable, "-c", "while True: pass"]
    processes = [subprocess.Popen(endless) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
