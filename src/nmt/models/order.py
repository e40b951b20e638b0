"""Rows of padded sequences with their positions in another order."""

import torch
from torch import Tensor

# B rows, S positions, D width


def reverse_before_eos(sequence: Tensor, lengths: Tensor) -> Tensor:
    """Reverse each row but for EOS and padding, which stay where they are: a b c EOS -> c b a EOS.

    (B, S) or (B, S, D), lengths (B,) with EOS counted. Applied twice it changes nothing.
    """
    position = torch.arange(sequence.size(1), device=sequence.device)[None]
    mirrored = lengths[:, None] - 2 - position
    return reordered(sequence, torch.where(mirrored >= 0, mirrored, position))


def reordered(sequence: Tensor, order: Tensor) -> Tensor:
    """Take the positions of each row in an order: (B, S) or (B, S, D), order (B, S)."""
    return torch.take_along_dim(sequence, order if sequence.dim() == 2 else order[..., None], 1)
