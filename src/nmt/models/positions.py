"""Positions added to embeddings: sinusoids (AIAYN section 3.5) or learned (Table 3, row E)."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt.configuration import LEARNED_POSITIONS, SelfAttention
from nmt.errors import UserError

# B sentences, T length, D width


class SinusoidalPositions(nn.Module):
    """Sinusoids in a table that grows with the sequences: there is no limit and nothing to save."""

    table: Tensor

    def __init__(self, d_model: int, sines_first: bool = False):
        super().__init__()
        self.sines_first = sines_first
        table = sinusoids(1024, d_model, sines_first).to(torch.get_default_device())
        self.register_buffer("table", table, persistent=False)
        self.shorter: list[Tensor] = []  # CUDA graphs may go on reading them

    def forward(self, x: Tensor, positions: Tensor, end: int) -> Tensor:
        """Add the encodings of positions (T,) or (B, T), below `end`: (B, T, D) -> (B, T, D)."""
        if end > len(self.table):
            self.shorter.append(self.table)
            longer = sinusoids(2 * end, self.table.size(1), self.sines_first)
            self.table = longer.to(self.table)
        return x + F.embedding(positions, self.table)


class LearnedPositions(nn.Module):
    """A table of learned vectors, initialized normal with deviation `std`."""

    def __init__(self, width: int, std: float):
        super().__init__()
        self.table = nn.Parameter(torch.empty(LEARNED_POSITIONS, width).normal_(std=std))

    def forward(self, x: Tensor, positions: Tensor, end: int) -> Tensor:
        """Add the vectors of positions (T,) or (B, T), below `end`: (B, T, D) -> (B, T, D).

        Raises UserError where `end` is behind the table's.
        """
        if end > len(self.table):
            raise UserError(
                f"a sequence of {end} tokens does not fit the {len(self.table)} learned"
                " positions: shorten it."
            )
        return x + F.embedding(positions, self.table)


class NoPositions(nn.Module):
    """No positions: self-attention knows the order (nmt.models.position_bias), or nothing does."""

    def forward(self, x: Tensor, positions: Tensor, end: int) -> Tensor:
        """Return x as it is: (B, T, D) -> (B, T, D)."""
        return x


def position_encoding(config: SelfAttention) -> nn.Module:
    """Return the module that adds the configuration's positions to embeddings."""
    match config.positions:
        case "sinusoidal" | "sines-cosines":
            return SinusoidalPositions(config.d_model, config.positions == "sines-cosines")
        case "learned":
            std = config.positions_std or config.d_model**-0.5
            return LearnedPositions(config.d_model, std)
        case _:
            return NoPositions()


def sinusoids(length: int, d_model: int, sines_first: bool = False) -> Tensor:
    """Return the encodings of AIAYN section 3.5 for positions 0 .. T - 1, on the CPU: (T, D).

    PE(pos, 2i) = sin(pos / 10000^(2i/D)), PE(pos, 2i+1) = cos of the same, interleaved as printed;
    or all sines, then all cosines, as most programs have it (NPFL138's lecture 9).
    """
    angle = angles(torch.arange(length, device="cpu"), d_model)
    encodings = torch.stack([angle.sin(), angle.cos()], dim=1 if sines_first else -1)
    return encodings.view(length, d_model).to(torch.get_default_dtype())


def angles(positions: Tensor, width: int) -> Tensor:
    """Return position / 10000^(2i / width) in float64: (...) -> (..., width / 2)."""
    pairs = torch.arange(0, width, 2, dtype=torch.float64, device=positions.device)
    return positions[..., None] * torch.exp(pairs * (-math.log(10000.0) / width))
