"""The origin of a result: the commit that was checked out when it was made."""

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
DESCRIBE = "describe --always --exclude=* --abbrev=10 --dirty=+changes"


def commit() -> str:
    """Return the short hash of the checked-out commit, and "+changes" when tracked files differ.

    Outside a git checkout it is "unknown".
    """
    command = ["git", "-C", str(REPOSITORY), *DESCRIBE.split()]
    try:
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
