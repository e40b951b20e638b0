"""Sentences that go through a model together: padded, one a row, or packed, several in a row."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nmt.data.sequences import Sequences, Source, copy_to
from nmt.data.tokens import Ragged
from nmt.text.subwords import BOS, EOS, PAD

# B rows, T target length


@dataclass(frozen=True)
class Batch:
    """Sentence pairs that go through a model together, filled up with PAD."""

    source: Source
    target: Sequences  # (B, T): BOS tokens, of each sentence
    target_out: Tensor  # (B, T): tokens EOS

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        target_out = copy_to(self.target_out, device)
        return Batch(self.source.to(device), self.target.to(device), target_out)

    @property
    def tensors(self) -> list[Tensor]:
        """All that is on the batch's device."""
        return [self.target_out, *self.source.tensors.values(), *self.target.tensors.values()]


@dataclass(frozen=True)
class UpdateBatch:
    """What an update learns from: counts over all ranks, and this rank's own micro-batches.

    update_in_epoch: the update's number in its epoch, from 1.
    sentences: the indices of all sentences, on all ranks.
    source_tokens, target_tokens: on all ranks, with EOS and without padding.
    micro_batches: this rank's own, by number (see Partition); none where an update has fewer
    sentences than there are ranks.
    """

    epoch: int
    update_in_epoch: int
    sentences: np.ndarray
    source_tokens: int
    target_tokens: int
    micro_batches: dict[int, Batch]


class Placed:
    """Sentences of one side, each with EOS, at places of a rectangle.

    starts: (n,), the first place of each sentence, counted through all rows of `shape` (B, T).
    tokens: all sentences' tokens, one after the other. sentence, position, places: (tokens,), of
    each token the number of its sentence, from 0, where it is in it, and where in the rectangle.
    """

    def __init__(self, ragged: Ragged, indices: np.ndarray, starts: np.ndarray, shape: tuple):
        lengths = ragged.lengths_of(indices) + 1
        begins = np.cumsum(lengths) - lengths
        self.shape = shape
        self.sentence = np.repeat(np.arange(len(indices)), lengths)
        self.position = np.arange(lengths.sum()) - begins[self.sentence]
        self.places = starts[self.sentence] + self.position
        is_end = np.zeros(len(self.position), dtype=bool)
        is_end[begins + lengths - 1] = True
        self.tokens = np.full(len(self.position), EOS, dtype=np.int64)
        self.tokens[~is_end] = ragged.tokens[
            (ragged.offsets[indices][self.sentence] + self.position)[~is_end]
        ]

    def rectangle(self, values: np.ndarray, fill: int) -> Tensor:
        """Return a value for each token, and `fill` at all other places: (B, T)."""
        filled = np.full(self.shape, fill, dtype=np.int64)
        filled.reshape(-1)[self.places] = values
        return torch.from_numpy(filled)

    def target(self) -> tuple[Tensor, Tensor]:
        """Return the tokens behind BOS, but EOS, and the tokens: (B, T) both."""
        inputs = np.where(self.position == 0, BOS, np.roll(self.tokens, 1))
        return self.rectangle(inputs, PAD), self.rectangle(self.tokens, PAD)


def padded_batch(source: Ragged, target: Ragged, indices: np.ndarray) -> Batch:
    """Return the sentences with these indices, one a row, each side as long as its longest."""
    sides = []
    for ragged in (source, target):
        width = int(ragged.lengths_of(indices).max()) + 1
        starts = np.arange(len(indices)) * width
        sides.append(Placed(ragged, indices, starts, (len(indices), width)))
    lengths = torch.from_numpy(source.lengths_of(indices).astype(np.int64) + 1)
    target_in, target_out = sides[1].target()
    source_rows = Source.padded(sides[0].rectangle(sides[0].tokens, PAD), lengths)
    return Batch(source_rows, Sequences.of(target_in), target_out)


def pad_sources(sentences: list[list[int]]) -> Source:
    """Return sources from lists of tokens, EOS not among them."""
    lengths = torch.tensor([len(tokens) + 1 for tokens in sentences])
    return Source.padded(pad([[*tokens, EOS] for tokens in sentences]), lengths)


def pad(rows: list[list[int]]) -> Tensor:
    """Return the rows filled up with PAD: (B, longest)."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
