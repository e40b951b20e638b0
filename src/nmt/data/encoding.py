"""Pairs of text as subword ids, cleaned."""

from dataclasses import dataclass

import numpy as np

from nmt.configuration import Cleaning
from nmt.text.chunks import Chunk
from nmt.text.encoder import Encoded, Encoder
from nmt.text.subwords import SubwordPair

# Why a pair is dropped, in the order in which it is asked
REASONS = ("empty", "too_long", "ratio")


@dataclass(frozen=True)
class EncodedPairs:
    """Pairs as ids, of which some were dropped.

    count: of pairs before cleaning. dropped: pairs by reason.
    """

    source: Encoded
    target: Encoded
    count: int
    dropped: dict[str, int]


class PairEncoder:
    """Encodes chunks of parallel text; training text is cleaned."""

    def __init__(self, subwords: SubwordPair, cleaning: Cleaning | None):
        self.source = Encoder(subwords.source)
        self.target = self.source
        if subwords.target is not subwords.source:
            self.target = Encoder(subwords.target)
        self.cleaning = cleaning

    def __call__(self, chunks: tuple[Chunk, Chunk]) -> EncodedPairs:
        """Return the pairs as ids; raises UserError when the text is not UTF-8."""
        source = self.source(chunks[0].lines())
        target = self.target(chunks[1].lines())
        count = len(source.lengths)
        if self.cleaning is None:
            return EncodedPairs(source, target, count, {})
        reasons = reasons_to_drop(source.lengths, target.lengths, self.cleaning)
        numbers = np.bincount(reasons, minlength=len(REASONS) + 1)
        dropped = {reason: int(n) for reason, n in zip(REASONS, numbers[:-1], strict=True)}
        keep = reasons == len(REASONS)
        return EncodedPairs(source.kept(keep), target.kept(keep), count, dropped)


def reasons_to_drop(source: np.ndarray, target: np.ndarray, cleaning: Cleaning) -> np.ndarray:
    """Return for each pair the index in REASONS of the first that holds, or their number: (n,).

    source, target: lengths in subwords, (n,).
    """
    shorter, longer = np.minimum(source, target), np.maximum(source, target)
    ratio = np.inf if cleaning.max_ratio is None else cleaning.max_ratio
    conditions = [shorter == 0, longer > cleaning.max_length, longer > ratio * shorter.clip(1)]
    return np.select(conditions, range(len(REASONS)), len(REASONS))
