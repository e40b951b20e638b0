"""Filters that drop pairs of training text by name, with every dropped pair counted."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from nmt.configuration import Corpus
from nmt.files import read_lines
from nmt.text.corpora import Pair, key_of
from nmt.text.preprocessing import Preprocessing


class Filters:
    """Drops pairs of a split by the corpus's filters, the methods of their names, and counts them.

    tests: the files of dev and test sets, of the source and of the target side.
    """

    def __init__(self, corpus: Corpus, split: str, tests: tuple[Iterable[Path], Iterable[Path]]):
        self.corpus = corpus
        self.split = split
        self.names = corpus.filters_of(split)
        self.tests = [
            {form(line) for path in paths for line in read_lines(path)} - {""} for paths in tests
        ]
        self.keys: set[int] = set()
        languages = corpus.languages.values() if "words" in self.names else ()
        self.tokenizers = [Preprocessing(["tokenize"], language) for language in languages]
        self.reached = 0  # pairs that dev_every was asked about
        self.outcomes: Counter[str] = Counter()

    def kept(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield the pairs that pass all filters."""
        for pair in pairs:
            outcome = next((name for name in self.names if getattr(self, name)(pair)), "kept")
            self.outcomes[outcome] += 1
            if outcome == "kept":
                yield pair

    def words(self, pair: Pair) -> bool:
        """Return whether a side has no words or too many, or too many for the other side."""
        most, ratio = self.corpus.cleaning.words or (math.inf, math.inf)
        counts = [len(line.split()) for line in map(Preprocessing.apply, self.tokenizers, pair)]
        return not all(counts) or max(counts) > most or max(counts) > ratio * min(counts)

    def dev_every(self, pair: Pair) -> bool:
        """Return whether the pair is the dev set's or, in the dev set, the training set's."""
        self.reached += 1
        return (self.reached % (self.corpus.dev_every or math.inf) == 0) == (self.split == "train")

    def overlap(self, pair: Pair) -> bool:
        """Return whether a side is a sentence of the tests."""
        return any(form(side) in tests for side, tests in zip(pair, self.tests, strict=True))

    def duplicates(self, pair: Pair) -> bool:
        """Return whether the same pair has come before, in some 60 bytes of memory a pair."""
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
