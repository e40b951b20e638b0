"""Pairs of text as subword ids, cleaned."""

from dataclasses import dataclass
from itertools import chain

import numpy as np

from nmt.configuration import Cleaning
from nmt.text.subwords import Segmenter, SubwordPair

# Why a pair is dropped, in the order in which it is asked
REASONS = ("empty", "too_long", "ratio")


@dataclass(frozen=True)
class Encoded:
    """Sequences of ids one after the other.

    tokens: (all lengths together,). lengths: of each sequence, (n,).
    """

    tokens: np.ndarray
    lengths: np.ndarray

    def kept(self, mask: np.ndarray) -> "Encoded":
        """Return the sequences for which the mask, (n,), is true."""
        return Encoded(self.tokens[np.repeat(mask, self.lengths)], self.lengths[mask])


def encode(subwords: Segmenter, lines: list[str]) -> Encoded:
    """Return the ids of each line."""
    ids = subwords.encode(lines)
    lengths = np.fromiter(map(len, ids), np.int64, len(ids))
    return Encoded(np.fromiter(chain.from_iterable(ids), np.uint32, lengths.sum()), lengths)


def encode_pairs(
    subwords: SubwordPair, cleaning: Cleaning | None, pairs: list[tuple[str, str]]
) -> tuple[Encoded, Encoded, np.ndarray]:
    """Return both sides of parallel text as ids, and how many pairs each of REASONS dropped.

    Training text is cleaned; without `cleaning` every pair stays.
    """
    source = encode(subwords.source, [pair[0] for pair in pairs])
    target = encode(subwords.target, [pair[1] for pair in pairs])
    if cleaning is None:
        return source, target, np.zeros(len(REASONS), np.int64)
    reasons = reasons_to_drop(source.lengths, target.lengths, cleaning)
    keep = reasons == len(REASONS)
    dropped = np.bincount(reasons[~keep], minlength=len(REASONS))
    return source.kept(keep), target.kept(keep), dropped


def reasons_to_drop(source: np.ndarray, target: np.ndarray, cleaning: Cleaning) -> np.ndarray:
    """Return for each pair the index in REASONS of the first that holds, or their number: (n,).

    source, target: lengths in subwords, (n,).
    """
    shorter, longer = np.minimum(source, target), np.maximum(source, target)
    ratio = np.inf if cleaning.max_ratio is None else cleaning.max_ratio
    conditions = [shorter == 0, longer > cleaning.max_length, longer > ratio * shorter.clip(1)]
    return np.select(conditions, range(len(REASONS)), len(REASONS))
