"""Several sentences in a row, so that micro-batches have few shapes and hardly any padding.

A GPU computes each shape by one captured graph of kernels. On a CPU, where it would save nothing,
sentences of similar lengths are padded instead (nmt.data.batches).
"""

import sys
from dataclasses import dataclass
from heapq import heappop, heappush

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
    """Rows of `length` tokens a side, of which a device takes at most `most_rows` at a time."""

    length: int
    most_rows: int

    @classmethod
    def of(cls, longest: int, device_tokens: int = 0) -> "Packing":
        """Return the packing of sentences of at most `longest` tokens.

        device_tokens: the most tokens of a side in a micro-batch; 0: no limit.
        """
        length = max(LEAST_LENGTH, longest)
        return cls(length, max(1, device_tokens // length) if device_tokens else sys.maxsize)

    def micro_batches(self, tokens: ParallelTokens, indices: np.ndarray) -> list[Batch]:
        """Return the sentences with these indices, in micro-batches of one shape."""
        source, target = (side.lengths_of(indices) + 1 for side in (tokens.source, tokens.target))
        row = pack(source, target, self.length)
        needed = int(row.max()) + 1
        rows = few_sizes(-(-needed // -(-needed // self.most_rows)), self.most_rows)
        return [
            self.batch(tokens, indices[row // rows == i], row[row // rows == i] % rows, rows)
            for i in range((needed - 1) // rows + 1)
        ]

    def batch(
        self, tokens: ParallelTokens, indices: np.ndarray, row: np.ndarray, rows: int
    ) -> Batch:
        """Return one micro-batch of so many rows; row: (n,), that of each sentence."""
        order = np.argsort(row, kind="stable")
        indices, row = indices[order], row[order]
        segments = rank_in_row(np.ones(len(row), dtype=np.int64), row)
        sides = []
        for ragged in (tokens.source, tokens.target):
            columns = rank_in_row(ragged.lengths_of(indices) + 1, row)
            starts = row * self.length + columns
            sides.append(Placed(ragged, indices, starts, (rows, self.length)))
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


def few_sizes(rows: int, most_rows: int) -> int:
    """Return so many rows or up to a sixteenth more: 16 sizes for each power of two."""
    step = max(1, 2 ** (rows.bit_length() - 5))
    return min(most_rows, -(-rows // step) * step)


def rank_in_row(sizes: np.ndarray, row: np.ndarray) -> np.ndarray:
    """Return the sum of the sizes before each sentence in its row: (n,); rows are sorted."""
    before = np.cumsum(sizes) - sizes
    first = np.searchsorted(row, row)  # the first sentence of each sentence's row
    return before - before[first]


def pack(source: np.ndarray, target: np.ndarray, length: int) -> np.ndarray:
    """Return the row of each sentence pair: (n,), in about as few rows as can hold them.

    The longest comes first, and each goes into the row with the most room on its fuller side
    (longest processing time first: Graham 1969), or where that is too little into a new one.
    source, target: lengths with EOS, (n,), at most `length`.
    """
    rows = -(-int(max(source.sum(), target.sum())) // length)  # there cannot be fewer
    # The row with the most room comes first: minus that room, of the fuller side; room of both
    # sides, and for sentences; its number
    heap = [(-length, length, length, MOST_SEGMENTS, row) for row in range(rows)]
    row_of = np.zeros(len(source), dtype=np.int64)
    for i in np.argsort(-np.maximum(source, target), kind="stable").tolist():
        _, source_room, target_room, sentences, row = heap[0]
        if source_room >= source[i] and target_room >= target[i] and sentences:
            heappop(heap)
        else:
            source_room, target_room, sentences, row = length, length, MOST_SEGMENTS, len(heap)
        source_room -= int(source[i])
        target_room -= int(target[i])
        room = min(source_room, target_room) if sentences > 1 else 0
        heappush(heap, (-room, source_room, target_room, sentences - 1, row))
        row_of[i] = row
    return row_of
