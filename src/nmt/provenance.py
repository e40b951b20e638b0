"""Where a number comes from: the commit that was checked out when it was made."""

import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def commit() -> str:
    """The commit's short name, with a + when tracked files differ from it; "unknown" outside a git
    checkout.
    """
    try:
        name = git("rev-parse", "--short=10", "HEAD").strip()
        return name + ("+" if git("status", "--porcelain", "--untracked-files=no").strip() else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(REPOSITORY), *arguments], check=True, capture_output=True, text=True
    ).stdout
