"""Rows of tokens as models take them, and how they come to a device."""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import Tensor

from nmt.text.subwords import PAD

# B rows, T length of a row, S that of a source's


@dataclass(frozen=True)
class Sequences:
    """Rows of tokens filled up with PAD: a sentence a row, or packed, several in a row.

    tokens: (B, T). positions: (T,) or (B, T), the place of each token in its sentence, from 0.
    segments: (B, T), which of its row's sentences a token belongs to, from 0, and -1 at padding;
      None where each row is one sentence, whose padding nothing sees.
    end: more than any position; known without asking a device.
    """

    tokens: Tensor
    positions: Tensor
    segments: Tensor | None
    end: int

    @classmethod
    def of(cls, tokens: Tensor) -> "Sequences":
        """Return rows of one sentence each: (B, T)."""
        length = tokens.size(1)
        return Sequences(tokens, torch.arange(length, device=tokens.device), None, length)

    @property
    def device(self) -> torch.device:
        """Where the tokens are."""
        return self.tokens.device

    @property
    def padding(self) -> Tensor:
        """Where there is padding: (B, T)."""
        return self.tokens == PAD

    def to(self, device: torch.device) -> Self:
        """Return the rows on a device; see `copy_to`."""
        copies: dict[str, Any] = {
            name: copy_to(tensor, device) for name, tensor in self.tensors.items()
        }
        return replace(self, **copies)

    @property
    def tensors(self) -> dict[str, Tensor]:
        """All that is on the rows' device."""
        tensors = {"tokens": self.tokens, "positions": self.positions}
        return tensors if self.segments is None else tensors | {"segments": self.segments}


@dataclass(frozen=True)
class Source(Sequences):
    """Source sentences that go through a model together, each with EOS, padded with PAD.

    lengths: (B,), tokens of each row, EOS counted, on the CPU wherever the tokens are: what sorts
    sentences by their lengths would otherwise wait until a GPU has computed them. most_segments:
    the most sentences that a row may have.
    """

    lengths: Tensor
    most_segments: int = 1

    @classmethod
    def padded(cls, tokens: Tensor, lengths: Tensor) -> "Source":
        """Return rows of one sentence each: (B, S), lengths (B,)."""
        rows = Sequences.of(tokens)
        is_padded = int(lengths.min()) < tokens.size(1)
        segments = -(tokens == PAD).long() if is_padded else None
        return cls(tokens, rows.positions, segments, rows.end, lengths)


def copy_to(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor of the CPU on a device; a copy to a GPU makes neither wait for the other."""
    if device.type == "cuda" and tensor.device.type == "cpu":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)
