"""A measurement in a process of its own, as benchmarks take them in turns."""

import json
import os
import subprocess

from nmt.environment import SETTINGS
from nmt.errors import UserError


def measured(what: str, start: list, arguments: dict) -> dict:
    """What a script prints as JSON on its last line. `start` is its beginning: Python, the script and its first
    arguments.

    Raises UserError when it fails, which says so of `what`.
    """
    command = [*start, *(f"--{name}={value}" for name, value in arguments.items())]
    done = subprocess.run(command, stdout=subprocess.PIPE, env=SETTINGS | os.environ, check=False)
    if done.returncode:
        raise UserError(f"{what} could not be measured by {' '.join(map(str, start))}: see above.")
    return json.loads(done.stdout.splitlines()[-1])
