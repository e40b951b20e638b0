"""The origin of a result: the commit that was checked out when it was made."""

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def commit() -> str:
    """Return the short hash of the checked-out commit, and "+changes" when tracked files differ.

    Outside a git checkout it is "unknown".
    """
    try:
        commit_hash = git("rev-parse", "--short=10", "HEAD").strip()
        changes = git("status", "--porcelain", "--untracked-files=no").strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit_hash}+changes" if changes else commit_hash


def git(*arguments: str) -> str:
    """Return the standard output of a git command run in the repository."""
    command = ["git", "-C", str(REPOSITORY), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
