"""Where a token stands, added to its embedding: sinusoids (AIAYN section 3.5) or learned (Table 3,
row E).
"""

import math

import torch
from torch import Tensor, nn

from nmt.configuration import ConvS2S, SelfAttention
from nmt.errors import UserError

# T length, D width


def sinusoids(length: int, d_model: int) -> Tensor:
    """(T, D): PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos of the same, interleaved
    as printed.
    """
    frequency = torch.exp(
        torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10000.0) / d_model)
    )
    angle = torch.arange(length, dtype=torch.float64)[:, None] * frequency
    return (
        torch.stack([angle.sin(), angle.cos()], dim=-1)
        .view(length, d_model)
        .to(torch.get_default_dtype())
    )


def places(table: Tensor, start: int | Tensor, length: int) -> Tensor:
    """Rows start .. start + length - 1: (T, D); (B, T, D) where each sentence has a start of its
    own, (B,).
    """
    if isinstance(start, int):
        return table[start : start + length]
    return table[start[:, None] + torch.arange(length, device=start.device)]


def end(start: int | Tensor, length: int) -> int:
    return (start if isinstance(start, int) else int(start.max())) + length


class SinusoidalPositions(nn.Module):
    """Grows as longer sequences come, so it has no limit and nothing to save."""

    def __init__(self, d_model: int):
        super().__init__()
        self.register_buffer("table", sinusoids(256, d_model), persistent=False)

    def forward(self, x: Tensor, start: int | Tensor = 0) -> Tensor:
        """Adds the encodings of positions start .. start + T - 1 to x (B, T, D); `start` may be one
        a sentence.
        """
        needed = end(start, x.size(-2))
        if needed > len(self.table):
            self.table = sinusoids(2 * needed, self.table.size(1)).to(self.table)
        return x + places(self.table, start, x.size(-2))


class LearnedPositions(nn.Module):
    """A table of `max_positions` positions, `width` wide, normal with the deviation `std` at first.

    Raises UserError for a longer sequence.
    """

    def __init__(self, config: SelfAttention | ConvS2S, width: int, std: float):
        super().__init__()
        self.reach = config.reach
        self.table = nn.Parameter(torch.empty(config.max_positions, width).normal_(std=std))

    def forward(self, x: Tensor, start: int | Tensor = 0) -> Tensor:
        needed = end(start, x.size(-2))
        if needed > len(self.table):
            raise UserError(
                f"a sequence of {needed} tokens does not fit the {len(self.table)} learned"
                " positions: shorten it, or set max_positions and train again."
            )
        return x + places(self.table, start, x.size(-2))


class NoPositions(nn.Module):
    """The order is told inside self-attention (nmt.models.position_bias), or not at all."""

    def forward(self, x: Tensor, start: int | Tensor = 0) -> Tensor:
        return x


def positions(config: SelfAttention) -> nn.Module:
    match config.positions:
        case "sinusoidal":
            return SinusoidalPositions(config.d_model)
        case "learned":
            return LearnedPositions(
                config, config.d_model, config.positions_std or config.d_model**-0.5
            )
        case _:
            return NoPositions()


def reach(model: nn.Module) -> int | None:
    """Tokens that a source or a translation may have, beside tags and EOS; None: there is no
    limit.
    """
    return min(
        (module.reach for module in model.modules() if isinstance(module, LearnedPositions)),
        default=None,
    )
