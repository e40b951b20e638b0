"""Where two tokens stand to each other: positions that live inside self-attention instead of in the
embeddings.

Queries are the last T of the S positions whose keys they meet: all of them in teacher forcing, one
in a cached step.
"""

import math

import torch
from torch import Tensor, nn

from nmt.configuration import SelfAttention

# B batch, T queries, S keys, H heads, K key width, U value width, C max_distance


def distances(q: Tensor, length: int) -> Tensor:
    """(T, S): how far each key stands behind (negative) or ahead of its query."""
    position = torch.arange(length, device=q.device)
    return position - position[length - q.size(2) :, None]


class PositionBias(nn.Module):
    """Self-attention as in AIAYN, which sees no order; the others change one or more of these."""

    needs_weights = False  # whether there is a `context`, which is made of attention's weights

    def rotate(self, x: Tensor, start: int) -> Tensor:
        """Queries or keys (B, H, T, K) at positions `start` and on."""
        return x

    def bias(self, q: Tensor, length: int) -> Tensor | None:
        """What is added to the scaled scores, to be broadcast to (B, H, T, S)."""
        return None


class RelativePositions(PositionBias):
    """A vector for each distance up to C, added to keys and to values; each head has its own.

    Shaw et al. 2018, equations 3 and 4, and the base model of section 4.1. Products with the 2C + 1
    vectors are made once and then looked up by distance.
    """

    needs_weights = True

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.limit = config.max_distance
        self.keys, self.values = (
            nn.Parameter(torch.empty(config.heads, 2 * self.limit + 1, width))
            for width in (config.key_width, config.value_width)
        )
        for vectors in (*self.keys, *self.values):  # of one head
            nn.init.xavier_uniform_(vectors)

    def places(self, like: Tensor, length: int) -> Tensor:
        """(B, H, T, S): which of the vectors belongs to each pair."""
        places = distances(like, length).clamp(-self.limit, self.limit) + self.limit
        return places.expand(*like.shape[:2], *places.shape)

    def bias(self, q: Tensor, length: int) -> Tensor:
        scaled = q * (1 / math.sqrt(q.size(-1)))
        return (scaled @ self.keys.mT.to(q.dtype)).gather(-1, self.places(q, length))

    def context(self, weights: Tensor) -> Tensor:
        """What is added to the weighted sum of values: (B, H, T, S) -> (B, H, T, U)."""
        by_distance = weights.new_zeros(*weights.shape[:3], self.values.size(1))
        by_distance = by_distance.scatter_add(-1, self.places(weights, weights.size(-1)), weights)
        return by_distance @ self.values.to(weights.dtype)


class RotaryPositions(PositionBias):
    """Turns pair i of queries and keys by position * 10000^(-2i/K): Su et al. 2021, equations 14
    and 15.
    """

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.width = config.key_width

    def rotate(self, x: Tensor, start: int) -> Tensor:
        # No buffer: a model that is made bfloat16 would take these along.
        position = torch.arange(start, start + x.size(2), device=x.device, dtype=torch.float64)
        pairs = torch.arange(0, self.width, 2, device=x.device, dtype=torch.float64)
        angle = position[:, None] * torch.exp(pairs * (-math.log(10000.0) / self.width))  # (T, K/2)
        sine, cosine = angle.sin().to(x.dtype), angle.cos().to(x.dtype)
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack(
            [even * cosine - odd * sine, even * sine + odd * cosine], dim=-1
        ).flatten(-2)


class ALiBi(PositionBias):
    """Scores fall with the distance, in each head by a slope of its own: Press et al. 2022, section
    3.

    Their slopes for H heads, a power of two: 2^(-8/H), 2^(-16/H) and so on; for other H those of
    the power below, then every second one of the power above. An encoder looks both ways, and falls
    both ways.
    """

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.register_buffer("slopes", torch.tensor(slopes(config.heads)), persistent=False)

    def bias(self, q: Tensor, length: int) -> Tensor:
        return -self.slopes.to(q.dtype)[:, None, None] * distances(q, length).abs()


def slopes(heads: int) -> list[float]:
    power = 2 ** int(math.log2(heads))
    first = [2.0 ** (-8 * number / power) for number in range(1, power + 1)]
    more = [2.0 ** (-8 * number / (2 * power)) for number in range(1, 2 * power + 1, 2)]
    return (first + more)[:heads]


def position_bias(config: SelfAttention) -> PositionBias:
    classes = {"relative": RelativePositions, "rotary": RotaryPositions, "alibi": ALiBi}
    return classes[config.positions](config) if config.positions in classes else PositionBias()
