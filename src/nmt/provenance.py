"""The origin of a result: the commit that was checked out when it was made."""

import re
import subprocess
from functools import cache
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def commit() -> str:
    """Return the short hash of the checked-out commit, with a + when tracked files differ from it.

    Outside a git checkout it is "unknown".
    """
    try:
        commit_hash = git("rev-parse", "--short=10", "HEAD").strip()
        changes = git("status", "--porcelain", "--untracked-files=no").strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return f"{commit_hash}+" if changes else commit_hash


@cache
def files_changed_since(commit_hash: str, paths: tuple[str, ...], ignore: str) -> list[str]:
    """Return the files below some paths of the repository that differ from those of a commit.

    There are none where git does not know the commit, or where it had changes itself (`+`).

    ignore: a regular expression of a line of commit messages: changes of such commits do not count.
    """
    if not re.fullmatch("[0-9a-f]{7,40}", commit_hash):
        return []
    other_commits = ["--invert-grep", "--extended-regexp", f"--grep={ignore}"]
    try:
        differ = git("diff", "--name-only", commit_hash, "--", *paths).splitlines()
        since = f"{commit_hash}...HEAD"
        committed = git("log", "--format=", "--name-only", *other_commits, since, "--", *paths)
        uncommitted = git("diff", "--name-only", "HEAD", "--", *paths)
    except (OSError, subprocess.CalledProcessError):
        return []
    changed = {*committed.splitlines(), *uncommitted.splitlines()}
    return [file for file in differ if file in changed]


def git(*arguments: str) -> str:
    """Return the standard output of a git command run in the repository."""
    command = ["git", "-C", str(REPOSITORY), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
