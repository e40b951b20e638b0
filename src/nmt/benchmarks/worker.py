"""One measurement in a process of its own, which prints what it measured as JSON."""

import json
import os
import subprocess
from pathlib import Path

from nmt.environment import SETTINGS
from nmt.errors import UserError

SOURCE = Path(__file__).resolve().parents[2]


def run_worker(what: str, start: list, arguments: dict, source: Path = SOURCE) -> dict:
    """Return what a worker prints as JSON on its last line.

    `start` is how its command begins: Python, -m, the module and its first arguments; `source` is the folder
    that holds the package nmt. Raises UserError when the worker fails, naming `what`.
    """
    command = [*start, *(f"--{name}={value}" for name, value in arguments.items())]
    environment = SETTINGS | os.environ | {"PYTHONPATH": str(source)}
    done = subprocess.run(command, stdout=subprocess.PIPE, env=environment, check=False)
    if done.returncode:
        raise UserError(f"{what} could not be measured by {' '.join(map(str, start))}: see above.")
    return json.loads(done.stdout.splitlines()[-1])
