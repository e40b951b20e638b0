"""Positions inside self-attention: relative, Transformer-XL's, rotary and ALiBi."""

import math

import torch
from torch import Tensor, nn

from nmt.configuration import SelfAttention
from nmt.models.layout import Layout
from nmt.models.positions import angles

# B batch, T queries, S keys, D d_model, H heads, d_k and d_v width of a head's keys and values, C
# max_distance


class PositionBias(nn.Module):
    """Self-attention as in AIAYN, which sees no order: subclasses override what they change."""

    # Whether `context_bias` adds to the weighted sum of values, for which attention has to give
    # its weights.
    adds_to_context = False

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return queries or keys (B, H, T, d_k), rotated by their positions (T,) or (B, T)."""
        return x

    def of_content(self, queries: Tensor) -> Tensor:
        """Return what the keys are multiplied with: (B, H, T, d_k), both."""
        return queries

    def score_bias(self, queries: Tensor, where: Layout) -> Tensor | None:
        """Return what is added to the scaled scores, or None for nothing.

        (B, H, T, d_k) -> broadcast to (B, H, T, S)
        """
        return None

    def context_bias(self, weights: Tensor, where: Layout) -> Tensor:
        """Return what is added to the weighted sum of values: (B, H, T, S) -> (B, H, T, d_v)."""
        raise NotImplementedError


class RelativePositions(PositionBias):
    """A learned vector for each distance up to C, added to keys and to values.

    Shaw et al. 2018, equations 3 and 4, and the base model of section 4.1. Each head has its own
    vectors. The products with the 2C + 1 vectors are computed once and then looked up by distance.
    """

    adds_to_context = True
    max_distance = 16

    def __init__(self, config: SelfAttention):
        super().__init__()
        vectors = 2 * self.max_distance + 1
        self.keys = nn.Parameter(torch.empty(config.heads, vectors, config.key_width))
        self.values = nn.Parameter(torch.empty(config.heads, vectors, config.value_width))
        for vectors_of_head in (*self.keys, *self.values):
            nn.init.xavier_uniform_(vectors_of_head)

    def vector_index(self, queries: Tensor, where: Layout) -> Tensor:
        """Return which vector belongs to each query and key: (B, H, T, ...) -> (B, H, T, S)."""
        index = where.distances.clamp(-self.max_distance, self.max_distance) + self.max_distance
        return index.expand(*queries.shape[:2], *index.shape[-2:])

    def score_bias(self, queries: Tensor, where: Layout) -> Tensor:
        """Return q . a^K / sqrt(d_k): (B, H, T, d_k) -> (B, H, T, S)."""
        scaled = queries * (1 / math.sqrt(queries.size(-1)))
        products = scaled @ self.keys.mT.to(queries.dtype)  # (B, H, T, 2C + 1)
        return products.gather(-1, self.vector_index(queries, where))

    def context_bias(self, weights: Tensor, where: Layout) -> Tensor:
        """Return the weighted sum of a^V: (B, H, T, S) -> (B, H, T, d_v)."""
        index = self.vector_index(weights, where)
        by_distance = weights.new_zeros(*weights.shape[:3], self.values.size(1))
        by_distance = by_distance.scatter_add(-1, index, weights)  # (B, H, T, 2C + 1)
        return by_distance @ self.values.to(weights.dtype)


class TransformerXLPositions(PositionBias):
    """Sinusoids of distances, projected: Dai et al. 2019, section 3.3.

    A score is (a) q.k + (b) q.W R + (c) u.k + (d) v.W R, for R the sinusoid of how far the key is
    behind; a decoder sees distances from 0 on, an encoder negative ones too. Each layer has its own
    W, u and v, as in XLNet.
    """

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.d_model = config.d_model
        self.project = nn.Parameter(torch.empty(config.heads, config.d_model, config.key_width))
        self.u = nn.Parameter(torch.zeros(config.heads, 1, config.key_width))
        self.v = nn.Parameter(torch.zeros(config.heads, 1, config.key_width))
        nn.init.xavier_uniform_(self.project.view(-1, config.heads * config.key_width))

    def of_content(self, queries: Tensor) -> Tensor:
        """Return q + u, for terms a and c: (B, H, T, d_k), both."""
        return queries + self.u.to(queries.dtype)

    def score_bias(self, queries: Tensor, where: Layout) -> Tensor:
        """Return terms b and d, / sqrt(d_k): (B, H, T, d_k) -> (B, H, T, S)."""
        keys = where.keys.size(-1)  # more than any distance
        angle = angles(torch.arange(1 - keys, keys, device=queries.device), self.d_model)
        sinusoids = torch.cat([angle.sin(), angle.cos()], -1).to(queries.dtype)
        projected = sinusoids @ self.project.to(queries.dtype)  # (H, 2S - 1, d_k)
        scaled = (queries + self.v.to(queries.dtype)) * (1 / math.sqrt(queries.size(-1)))
        index = keys - 1 - where.distances
        index = index.expand(*queries.shape[:2], *index.shape[-2:])
        return (scaled @ projected.mT).gather(-1, index)


class RotaryPositions(PositionBias):
    """Rotation of pair i of queries and keys by the angle position * 10000^(-2i/d_k).

    Su et al. 2021, equations 14 and 15.
    """

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.key_width = config.key_width

    def rotate(self, x: Tensor, positions: Tensor) -> Tensor:
        """Return x rotated by its positions, (T,) or (B, T): (B, H, T, d_k), both."""
        # No buffer: it would be converted with a model that is made bfloat16.
        angle = angles(positions, self.key_width)  # (T, d_k/2) or (B, T, d_k/2)
        if angle.dim() == 3:
            angle = angle[:, None]
        sine = angle.sin().to(x.dtype)
        cosine = angle.cos().to(x.dtype)
        even = x[..., ::2]
        odd = x[..., 1::2]
        rotated = [even * cosine - odd * sine, even * sine + odd * cosine]
        return torch.stack(rotated, dim=-1).flatten(-2)


class ALiBi(PositionBias):
    """Scores that fall with the distance, with a slope for each head: Press et al. 2022, section 3.

    An encoder looks both ways, and its scores fall both ways.
    """

    slopes: Tensor

    def __init__(self, config: SelfAttention):
        super().__init__()
        slopes = torch.tensor(alibi_slopes(config.heads))
        self.register_buffer("slopes", slopes, persistent=False)

    def score_bias(self, queries: Tensor, where: Layout) -> Tensor:
        """Return -slope * |distance|: (H, T, S) or (B, H, T, S)."""
        return -self.slopes.to(queries.dtype)[:, None, None] * where.distances.abs()


def alibi_slopes(heads: int) -> list[float]:
    """Return the slope of each of H heads.

    For H a power of two: 2^(-8/H), 2^(-16/H) and so on; for other H those of the power below, then
    every second one of the power above.
    """
    power = 2 ** int(math.log2(heads))
    slopes = [2.0 ** (-8 * number / power) for number in range(1, power + 1)]
    between = [2.0 ** (-8 * number / (2 * power)) for number in range(1, 2 * power + 1, 2)]
    return (slopes + between)[:heads]


def position_bias(config: SelfAttention) -> PositionBias:
    """Return the positions that the configuration puts inside self-attention, if any."""
    match config.positions:
        case "relative":
            return RelativePositions(config)
        case "transformer-xl":
            return TransformerXLPositions(config)
        case "rotary":
            return RotaryPositions(config)
        case "alibi":
            return ALiBi(config)
        case _:
            return PositionBias()
