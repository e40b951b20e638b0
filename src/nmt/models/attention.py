"""Scaled dot-product and multi-head attention: AIAYN section 3.2."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt.configuration import SelfAttention
from nmt.models.position_bias import PositionBias, position_bias

# B batch, S length of what is attended to, T queries, H heads, K key width, U value width, D model
# width


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_H) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    There are no biases, as printed. One matrix `qkv` holds W^Q, W^K and W^V of all heads: a single
    product serves self-attention. `widths` are those of its three parts.
    """

    def __init__(self, config: SelfAttention, position_bias: PositionBias):
        super().__init__()
        keys = config.heads * config.key_width
        values = config.heads * config.value_width
        self.heads = config.heads
        self.widths = [keys, keys, values]
        self.position_bias = position_bias
        self.qkv = nn.Linear(config.d_model, sum(self.widths), bias=False)
        self.out = nn.Linear(values, config.d_model, bias=False)
        # The three matrices are initialized as one, so each starts smaller by sqrt(2) than it would
        # by itself: otherwise Post-LN encoders of small models tend to map all positions to one
        # state, and attention never learns.
        nn.init.xavier_uniform_(self.qkv.weight)
        nn.init.xavier_uniform_(self.out.weight)

    def split_heads(self, x: Tensor) -> Tensor:
        """Split the width among heads: (B, T, H * K) -> (B, H, T, K)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def project(self, x: Tensor, start: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Return queries, keys and values of x for self-attention.

        (B, T, D), at positions `start` and on -> (B, H, T, K), (B, H, T, K), (B, H, T, U)
        """
        q, k, v = (self.split_heads(part) for part in self.qkv(x).split(self.widths, dim=-1))
        return self.position_bias.rotate(q, start), self.position_bias.rotate(k, start), v

    def queries(self, x: Tensor) -> Tensor:
        """Return the queries of cross-attention: (B, T, D) -> (B, H, T, K)."""
        return self.split_heads(F.linear(x, self.qkv.weight[: self.widths[0]]))

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """Return keys and values of cross-attention: (B, S, D) -> (B, H, S, K), (B, H, S, U)."""
        projected = F.linear(memory, self.qkv.weight[self.widths[0] :])
        keys, values = projected.split(self.widths[1:], dim=-1)
        return self.split_heads(keys), self.split_heads(values)

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, maps: list[Tensor] | None = None
    ) -> Tensor:
        """Attend with projected queries (B, H, T, K), keys (B, H, S, K) and values (B, H, S, U).

        `mask` (broadcast to (B, H, T, S)) is added to the scores. The weights (B, H, T, S) are
        appended to `maps` when it is given. Returns (B, T, D).
        """
        bias = self.position_bias.score_bias(q, k.size(2))
        if bias is not None:
            mask = bias if mask is None else mask + bias
        needs_weights = maps is not None or self.position_bias.adds_to_context
        if needs_weights or prefers_matmul(q.device):
            weights = attention_weights(q, k, mask)
            if maps is not None:
                maps.append(weights)
            context = weights @ v  # (B, H, T, U)
            if self.position_bias.adds_to_context:
                context = context + self.position_bias.context_bias(weights)
        else:
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(context.transpose(1, 2).flatten(2))


def prefers_matmul(device: torch.device) -> bool:
    """Return whether plain products beat the fused kernel, as they do on a CPU for sentences."""
    return device.type == "cpu"


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """Return softmax(Q K^T / sqrt(d_k)): (B, H, T, K), (B, H, S, K) -> (B, H, T, S).

    AIAYN equation 1.
    """
    scores = (q * (1 / math.sqrt(q.size(-1)))) @ k.transpose(-1, -2)
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    # Autocast would copy the scores to float32 and the weights back again; softmax sums in float32
    # anyway.
    with torch.autocast(q.device.type, enabled=False):
        return scores.softmax(-1)


def self_attention(config: SelfAttention) -> MultiHeadAttention:
    """Return self-attention with the configuration's positions, where these are inside it."""
    return MultiHeadAttention(config, position_bias(config))


def cross_attention(config: SelfAttention) -> MultiHeadAttention:
    """Return attention from target to source, between whose positions there is no distance."""
    return MultiHeadAttention(config, PositionBias())


def padding_mask(padding: Tensor, dtype: torch.dtype) -> Tensor:
    """Return minus infinity at padding and 0 elsewhere: (B, S), true at padding -> (B, 1, 1, S)."""
    zeros = torch.zeros(padding.shape, dtype=dtype, device=padding.device)
    return zeros.masked_fill_(padding, -math.inf)[:, None, None, :]


def causal_mask(length: int, like: Tensor) -> Tensor:
    """Return a mask (T, T) by which position t sees positions 0 .. t, of the type of `like`."""
    return torch.full((length, length), -math.inf, dtype=like.dtype, device=like.device).triu_(1)
