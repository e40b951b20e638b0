"""Sentence pairs of a corpus, read and filtered as the configuration says."""

import hashlib
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from nmt.configuration import Corpus, located, lookup
from nmt.errors import UserError
from nmt.files import read_lines
from nmt.provenance import REPOSITORY
from nmt.text.preprocessing import Preprocessing
from nmt.text.readers import pair_lines, read_sentences, segment_pairs

Pair = tuple[str, str]


def sentence_pairs(corpus: Corpus, split: str, archives: Path) -> Iterator[Pair]:
    """Yield the pairs of all parts of a split, one part after the other.

    Where splits are held out of the training text, that is read twice. archives: the folder of the
    downloads.

    Raises UserError for an unknown split, for missing or damaged files (see nmt.text.readers), and
    when there are fewer training pairs than are held out.
    """
    if corpus.generated:
        raise UserError(
            f"the corpus {corpus.title!r} is generated, not extracted: use generate.py."
        )
    lookup(dict.fromkeys(corpus.split_names), split, "split")
    pairs = all_pairs(corpus, split, archives)
    if split in corpus.held_out:
        waiting = held_out_keys(corpus, archives)[split]
        for pair in pairs:
            if key_of(pair) in waiting:
                waiting.remove(key_of(pair))  # a duplicate is not yielded again
                yield pair
    elif split == "train" and corpus.held_out:
        held_out = set().union(*held_out_keys(corpus, archives).values())
        yield from (pair for pair in pairs if key_of(pair) not in held_out)
    else:
        yield from pairs


def all_pairs(corpus: Corpus, split: str, archives: Path) -> Iterator[Pair]:
    """Yield the pairs of all parts that a split is read from."""
    for part in corpus.parts(split):
        places = [place(locator, archives) for locator in (part.source, part.target)]
        if part.format == "sgml":
            yield from segment_pairs(*places)
            continue
        source, target = (
            read_sentences(*where, part.format, column)
            for where, column in zip(places, part.columns, strict=True)
        )
        yield from pair_lines(source, target, part.source, part.target)


def place(locator: str, archives: Path) -> tuple[Path, str]:
    """Return the path of an archive or of a file of the user's own, and the member, "" for none."""
    name, member = located(locator)
    return (REPOSITORY if "/" in name else archives) / name, member


def held_out_keys(corpus: Corpus, archives: Path) -> dict[str, set[int]]:
    """Return the keys of the pairs of each split that is held out of the training text.

    They are the smallest of all keys, the first split's before the next one's: what is chosen
    depends on no order, and hardly changes when text is added. A pair with an empty side is never
    chosen.
    """
    pairs = all_pairs(corpus, "train", archives)
    keys = np.unique(np.fromiter((key_of(pair) for pair in pairs if all(pair)), dtype=np.uint64))
    needed = sum(corpus.held_out.values())
    if needed >= len(keys):
        raise UserError(
            f"held_out: {needed} pairs are to be held out, and train has {len(keys)} different ones"
            " with text on both sides: hold out fewer."
        )
    ends = np.cumsum(list(corpus.held_out.values()))
    chosen = np.split(keys[:needed], ends[:-1])
    return {split: set(part.tolist()) for split, part in zip(corpus.held_out, chosen, strict=True)}


def key_of(pair: Pair) -> int:
    """Return a checksum of a pair, the same for its duplicates, as random as a number drawn."""
    digest = hashlib.blake2b("\t".join(pair).encode(), digest_size=8).digest()
    return int.from_bytes(digest)


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
    """Return a line as it is compared: composed, in lower case, with one space between words."""
    return " ".join(unicodedata.normalize("NFC", line.lower()).split())
