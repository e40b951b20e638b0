"""Sentences that go through a model together, padded."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from nmt.data.source import Source, copy_to
from nmt.data.tokens import Ragged
from nmt.text.subwords import EOS, PAD

# B sentences, T target length


@dataclass(frozen=True)
class Batch:
    """Sentence pairs that go through a model together, padded with PAD."""

    source: Source
    target_in: Tensor  # (B, T): BOS tokens
    target_out: Tensor  # (B, T): tokens EOS

    def to(self, device: torch.device) -> "Batch":
        """Return the batch on a device."""
        targets = (copy_to(tensor, device) for tensor in (self.target_in, self.target_out))
        return Batch(self.source.to(device), *targets)


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


def padded(ragged: Ragged, indices: np.ndarray) -> Tensor:
    """Return the sentences' tokens with EOS after each, filled up with PAD: (B, longest + 1)."""
    starts = ragged.offsets[indices]
    lengths = ragged.lengths_of(indices)
    columns = np.arange(lengths.max() + 1)
    inside = columns < lengths[:, None]
    rows = np.full(inside.shape, PAD, dtype=np.int64)
    rows[inside] = ragged.tokens[(starts[:, None] + columns)[inside]]
    rows[np.arange(len(rows)), lengths] = EOS
    return torch.from_numpy(rows)


def pad_sources(sentences: list[list[int]]) -> Source:
    """Return sources from lists of tokens, EOS not among them."""
    lengths = torch.tensor([len(tokens) + 1 for tokens in sentences])
    return Source(pad([[*tokens, EOS] for tokens in sentences]), lengths)


def pad(rows: list[list[int]]) -> Tensor:
    """Return the rows filled up with PAD: (B, longest)."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[PAD] * (longest - len(row))] for row in rows])
