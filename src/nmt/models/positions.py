"""Where a token stands: sinusoids (AIAYN section 3.5) and learned positions (Table 3, row E)."""

import math

import torch
from torch import Tensor, nn

from nmt.errors import UserError

# T length, D width


def sinusoids(length: int, d_model: int) -> Tensor:
    """(T, D): PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos of the same, interleaved as printed."""
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10000.0) / d_model))
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    return torch.stack([angle.sin(), angle.cos()], dim=-1).view(length, d_model).to(torch.get_default_dtype())


class SinusoidalPositions(nn.Module):
    """Grows as longer sequences come, so it has no limit and nothing to save."""

    def __init__(self, d_model: int):
        super().__init__()
        self.register_buffer("table", sinusoids(256, d_model), persistent=False)

    def forward(self, start: int, length: int) -> Tensor:
        """Encodings of positions start .. start + length - 1: (T, D)."""
        if start + length > len(self.table):
            self.table = sinusoids(2 * (start + length), self.table.size(1)).to(self.table)
        return self.table[start : start + length]


class LearnedPositions(nn.Module):
    """A table of `limit` positions; raises UserError for a longer sequence."""

    def __init__(self, d_model: int, limit: int):
        super().__init__()
        self.table = nn.Parameter(torch.empty(limit, d_model).normal_(std=d_model**-0.5))

    def forward(self, start: int, length: int) -> Tensor:
        if start + length > len(self.table):
            raise UserError(
                f"a sequence of {start + length} tokens does not fit the {len(self.table)} learned positions: "
                "shorten it, or set max_positions and train again."
            )
        return self.table[start : start + length]
