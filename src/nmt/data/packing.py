"""Several sentences in a row, so that all micro-batches have one shape and hardly any padding.

A GPU computes rows of one shape with one compiled program. On a CPU, where it would save nothing,
sentences of similar lengths are padded instead (nmt.data.batches).
"""

from dataclasses import dataclass

import numpy as np

from nmt.data.batch import Batch, Placed
from nmt.data.sequences import Sequences, Source
from nmt.data.tokens import ParallelTokens
from nmt.text.subwords import PAD

LEAST_LENGTH = 256  # of a row: most hold some ten sentences
MOST_SEGMENTS = 32  # of a row

# n sentence pairs


@dataclass(frozen=True)
class Packing:
    """The shape of micro-batches: rows of `length` tokens a side."""

    rows: int
    length: int

    def micro_batches(self, tokens: ParallelTokens, indices: np.ndarray) -> list[Batch]:
        """Return the sentences with these indices, in micro-batches of this shape."""
        source, target = (side.lengths_of(indices) + 1 for side in (tokens.source, tokens.target))
        row = first_fit(source, target, self.length)
        return [
            self.batch(tokens, indices[row // self.rows == i], row[row // self.rows == i])
            for i in range(row.max() // self.rows + 1)
        ]

    def batch(self, tokens: ParallelTokens, indices: np.ndarray, row: np.ndarray) -> Batch:
        """Return one micro-batch; row: (n,), that of each sentence."""
        order = np.argsort(row, kind="stable")
        indices, row = indices[order], row[order] % self.rows
        segments = rank_in_row(np.ones(len(row), dtype=np.int64), row)
        sides = []
        for ragged in (tokens.source, tokens.target):
            columns = rank_in_row(ragged.lengths_of(indices) + 1, row)
            starts = row * self.length + columns
            sides.append(Placed(ragged, indices, starts, (self.rows, self.length)))
        source, target = sides
        numbers = [
            (side.rectangle(side.position, 0), side.rectangle(segments[side.sentence], -1))
            for side in sides
        ]
        source_tokens = source.rectangle(source.tokens, PAD)
        target_in, target_out = target.target()
        lengths = (source_tokens != PAD).sum(1)
        return Batch(
            Source(source_tokens, *numbers[0], self.length, lengths, MOST_SEGMENTS),
            Sequences(target_in, *numbers[1], self.length),
            target_out,
        )


def rank_in_row(sizes: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the sum of the sizes before each sentence in its row: (n,); rows are sorted."""
    before = np.cumsum(sizes) - sizes
    first = np.searchsorted(row, row)  # the first sentence of each sentence's row
    return before - before[first]


def first_fit(source: np.ndarray, target: np.ndarray, length: int) -> np.ndarray:
    """Return the row of each sentence pair: (n,).

    The longest comes first, and each goes into the first row that has room for both of its sides.
    source, target: lengths with EOS, (n,), at most `length`.
    """
    rooms = np.full((3, len(source)), length)  # of rows: source tokens, target tokens, sentences
    rooms[2] = MOST_SEGMENTS
    row = np.zeros(len(source), dtype=np.int64)
    sizes = np.stack([source, target, np.ones_like(source)], 1)
    opened = 0
    for i in np.argsort(-np.maximum(source, target), kind="stable"):
        size = sizes[i]
        fits = (rooms[:, : opened + 1] >= size[:, None]).all(0)
        row[i] = fits.argmax()
        rooms[:, row[i]] -= size
        opened = max(opened, row[i] + 1)
    return row
