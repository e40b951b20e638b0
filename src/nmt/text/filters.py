"""Filters that drop pairs of training text by name, with every dropped pair counted."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from nmt.files import read_lines
from nmt.text.corpora import Pair, key_of


class Filters:
    """Drops pairs by the filters that are named, and counts them.

    names: in their order; `overlap` drops pairs with a side that is a sentence of the tests, and
    `duplicates` all but the first of identical pairs, in some 60 bytes of memory a pair.
    tests: the files of dev and test sets, of the source and of the target side.
    """

    def __init__(self, names: Iterable[str], tests: tuple[Iterable[Path], Iterable[Path]]):
        self.names = list(names)
        self.tests = [
            {form(line) for path in paths for line in read_lines(path)} - {""} for paths in tests
        ]
        self.keys: set[int] = set()
        self.outcomes: Counter[str] = Counter()

    def kept(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that pass all filters."""
        for pair in pairs:
            outcome = next((name for name in self.names if getattr(self, name)(pair)), "kept")
            self.outcomes[outcome] += 1
            if outcome == "kept":
                yield pair

    def overlap(self, pair: Pair) -> bool:
        """Return whether a side is a sentence of the tests."""
        return any(form(side) in tests for side, tests in zip(pair, self.tests, strict=True))

    def duplicates(self, pair: Pair) -> bool:
        """Return whether the same pair has come before."""
        before = len(self.keys)
        self.keys.add(key_of(pair))
        return len(self.keys) == before

    @property
    def counts(self) -> dict:
        """The counts of `raw` and `kept` pairs, and those `dropped` by the first filter to do."""
        dropped = {name: self.outcomes[name] for name in self.names}
        return {"raw": self.outcomes.total(), "kept": self.outcomes["kept"], "dropped": dropped}


def form(line: str) -> str:
    """Return a line as it is compared: in lower case, with one space between words."""
    return " ".join(line.lower().split())
