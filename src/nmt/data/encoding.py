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


@dataclass(frozen=True)
class EncodedPairs:
    """Pairs as ids, of which some were dropped.

    count: of pairs before cleaning. dropped: pairs by reason.
    """

    source: Encoded
    target: Encoded
    count: int
    dropped: dict[str, int]


def encode_pairs(
    subwords: SubwordPair, cleaning: Cleaning | None, pairs: list[tuple[str, str]]
) -> EncodedPairs:
    """Return parallel text as ids; training text is cleaned."""
    source = encode(subwords.source, [pair[0] for pair in pairs])
    target = encode(subwords.target, [pair[1] for pair in pairs])
    if cleaning is None:
        return EncodedPairs(source, target, len(pairs), {})
    reasons = reasons_to_drop(source.lengths, target.lengths, cleaning)
    numbers = np.bincount(reasons, minlength=len(REASONS) + 1)
    dropped = {reason: int(n) for reason, n in zip(REASONS, numbers[:-1], strict=True)}
    keep = reasons == len(REASONS)
    return EncodedPairs(source.kept(keep), target.kept(keep), len(pairs), dropped)


def reasons_to_drop(source: np.ndarray, target: np.ndarray, cleaning: Cleaning) -> np.ndarray:
    """Return for each pair the index in REASONS of the first that holds, or their number: (n,).

    source, target: lengths in subwords, (n,).
    """
    shorter, longer = np.minimum(source, target), np.maximum(source, target)
    ratio = np.inf if cleaning.max_ratio is None else cleaning.max_ratio
    conditions = [shorter == 0, longer > cleaning.max_length, longer > ratio * shorter.clip(1)]
    return np.select(conditions, range(len(REASONS)), len(REASONS))
