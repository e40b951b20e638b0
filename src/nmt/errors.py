"""The exception for errors that a user can fix."""

from collections.abc import Iterable
from difflib import get_close_matches


class UserError(Exception):
    """One clear sentence that says what is wrong and what to do; shown without a traceback."""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return a hint for a misspelled name: the nearest known name, or all when none is near."""
    known = sorted(map(str, known))
    matches = get_close_matches(name, known, n=1, cutoff=0.5)
    if matches:
        return f"did you mean {matches[0]!r}?"
    return f"known are: {', '.join(known)}" if known else "there are none"
