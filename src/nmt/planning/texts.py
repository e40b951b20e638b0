"""The sentences that a plan is computed from: the corpus's, or random ones of typical lengths."""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from nmt.data.tokens import ParallelTokens, Ragged
from nmt.text.subwords import UNK

# Lengths of newstest2014 in 37,000 subwords: near a log-normal distribution of this mean and
# spread
MEAN_LENGTH = 29
SIGMA = 0.6
SYNTHETIC_PAIRS = {"train": 5_000, "dev": 3_000}


@dataclass(frozen=True)
class Texts:
    """Where the training and dev set of a vocabulary are, or will be.

    folder: the vocabulary's folder. sizes: the configured vocabulary sizes of source and target.
    max_length: the most subwords that a side of a training pair may have.
    """

    folder: Path
    sizes: tuple[int, int]
    max_length: int

    @property
    def are_there(self) -> bool:
        """Whether both sets have been binarized."""
        return all(
            (self.folder / "tokens" / split / "meta.json").exists() for split in SYNTHETIC_PAIRS
        )

    @cache  # noqa: B019
    def load(self, split: str) -> ParallelTokens:
        """Return a set as ids; before it is there, one of lengths like those of news."""
        if self.are_there:
            return ParallelTokens.load(self.folder / "tokens" / split)
        rng = np.random.default_rng(1)
        count = SYNTHETIC_PAIRS[split]
        mean = np.log(MEAN_LENGTH) - SIGMA**2 / 2
        common = rng.normal(mean, SIGMA, count)
        sides = []
        for _ in self.sizes:
            lengths = np.exp(common + rng.normal(0, 0.15, count)).round().astype(np.int64)
            offsets = np.concatenate([[0], lengths.clip(1, self.max_length).cumsum()])
            sides.append(Ragged(np.full(offsets[-1], UNK, dtype=np.uint32), offsets))
        meta = {"sentences": count, "vocabulary_sizes": list(self.sizes)}
        return ParallelTokens(sides[0], sides[1], meta)


def middle(tokens: ParallelTokens, count: int) -> ParallelTokens:
    """Return the sentences of medium length: so many, or all where there are fewer."""
    order = np.argsort(tokens.source.lengths, kind="stable")
    start = max(0, (len(order) - count) // 2)
    chosen = order[start : start + count]
    sides = []
    for side in (tokens.source, tokens.target):
        sentences = [np.asarray(side[i]) for i in chosen]
        offsets = np.concatenate([[0], np.cumsum([len(ids) for ids in sentences])])
        sides.append(Ragged(np.concatenate(sentences), offsets))
    return ParallelTokens(sides[0], sides[1], {**tokens.meta, "sentences": len(chosen)})
