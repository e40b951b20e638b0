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
    """Concat(head_1, ..., head_H) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V); no
    biases, as printed.

    One matrix `qkv` holds W^Q, W^K and W^V of all heads: a single product serves self-attention.
    """

    def __init__(self, config: SelfAttention, position_bias: PositionBias):
        super().__init__()
        d_model, heads = config.d_model, config.heads
        keys, values = heads * config.key_width, heads * config.value_width
        self.heads, self.widths, self.position_bias = heads, [keys, keys, values], position_bias
        self.qkv = nn.Linear(d_model, sum(self.widths), bias=False)
        self.out = nn.Linear(values, d_model, bias=False)
        # All three as one matrix, so each starts smaller than by itself by sqrt(2): otherwise
        # Post-LN encoders of small models tend to map all positions to one state, and attention
        # never comes to anything.
        nn.init.xavier_uniform_(self.qkv.weight)
        nn.init.xavier_uniform_(self.out.weight)

    def split(self, x: Tensor) -> Tensor:
        """(B, T, H * K) -> (B, H, T, K)"""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def project(self, x: Tensor, start: int = 0) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of x, which stands at positions `start` and on, for
        self-attention.

        (B, T, D) -> (B, H, T, K), (B, H, T, K), (B, H, T, U)
        """
        q, k, v = (self.split(part) for part in self.qkv(x).split(self.widths, dim=-1))
        return self.position_bias.rotate(q, start), self.position_bias.rotate(k, start), v

    def queries(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, H, T, K)"""
        return self.split(F.linear(x, self.qkv.weight[: self.widths[0]]))

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, D) -> (B, H, S, K), (B, H, S, U)"""
        both = F.linear(memory, self.qkv.weight[self.widths[0] :])
        return tuple(self.split(part) for part in both.split(self.widths[1:], dim=-1))

    def forward(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, maps: list[Tensor] | None = None
    ) -> Tensor:
        """Attends with projected q, k, v; `mask` (broadcast to (B, H, T, S)) is added to the
        scores.

        Appends the weights (B, H, T, S) to `maps` when it is given. Returns (B, T, D).
        """
        bias = self.position_bias.bias(q, k.size(2))
        if bias is not None:
            mask = bias if mask is None else mask + bias
        if maps is not None or prefers_matmul(q.device) or self.position_bias.needs_weights:
            attended = weights(q, k, mask)
            if maps is not None:
                maps.append(attended)
            context = attended @ v
            if self.position_bias.needs_weights:
                context = context + self.position_bias.context(attended)
        else:
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(context.transpose(1, 2).flatten(2))


def prefers_matmul(device: torch.device) -> bool:
    """On a CPU three plain products beat the fused kernel at the lengths of sentences."""
    return device.type == "cpu"


def weights(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)): AIAYN equation 1. (B, H, T, K), (B, H, S, K) -> (B, H, T, S)"""
    scores = (q * (1 / math.sqrt(q.size(-1)))) @ k.transpose(-1, -2)
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    # Autocast would copy the scores to float32 and what comes out back again; softmax adds in
    # float32 as it is.
    with torch.autocast(q.device.type, enabled=False):
        return scores.softmax(-1)


def self_attention(config: SelfAttention) -> MultiHeadAttention:
    return MultiHeadAttention(config, position_bias(config))


def cross_attention(config: SelfAttention) -> MultiHeadAttention:
    """From target to source, between whose positions there is no distance."""
    return MultiHeadAttention(config, PositionBias())


def padding_mask(padding: Tensor, dtype: torch.dtype) -> Tensor:
    """(B, S) true at padding -> (B, 1, 1, S): minus infinity where no one may look, 0 elsewhere."""
    return torch.zeros(padding.shape, dtype=dtype, device=padding.device).masked_fill_(
        padding, -math.inf
    )[:, None, None, :]


def causal_mask(length: int, like: Tensor) -> Tensor:
    """(T, T): position t sees positions 0 .. t."""
    return torch.full((length, length), -math.inf, dtype=like.dtype, device=like.device).triu_(1)
