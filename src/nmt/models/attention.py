"""Scaled dot-product and multi-head attention: AIAYN section 3.2."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# B batch, S length of what is attended to, T queries, H heads, K key width, U value width, D model width


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_H) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V); no biases, as printed.

    One matrix `qkv` holds W^Q, W^K and W^V of all heads: a single product serves self-attention.
    """

    def __init__(self, d_model: int, heads: int, d_k: int, d_v: int):
        super().__init__()
        self.heads, self.d_k, self.d_v = heads, d_k, d_v
        self.widths = [heads * d_k, heads * d_k, heads * d_v]
        self.qkv = nn.Linear(d_model, sum(self.widths), bias=False)
        self.out = nn.Linear(heads * d_v, d_model, bias=False)
        # All three as one matrix, so each starts smaller than by itself by sqrt(2): otherwise Post-LN encoders of small
        # models tend to map all positions to one state, and attention never comes to anything.
        nn.init.xavier_uniform_(self.qkv.weight)
        nn.init.xavier_uniform_(self.out.weight)

    def split(self, x: Tensor) -> Tensor:
        """(B, T, H * K) -> (B, H, T, K)"""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values of x for self-attention: (B, T, D) -> (B, H, T, K), (B, H, T, K), (B, H, T, U)."""
        return tuple(self.split(part) for part in self.qkv(x).split(self.widths, dim=-1))

    def queries(self, x: Tensor) -> Tensor:
        """(B, T, D) -> (B, H, T, K)"""
        return self.split(F.linear(x, self.qkv.weight[: self.widths[0]]))

    def keys_values(self, memory: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S, D) -> (B, H, S, K), (B, H, S, U)"""
        both = F.linear(memory, self.qkv.weight[self.widths[0] :])
        return tuple(self.split(part) for part in both.split(self.widths[1:], dim=-1))

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, maps: list[Tensor] | None = None) -> Tensor:
        """Attends with projected q, k, v; `mask` (broadcast to (B, H, T, S)) is added to the scores.

        Appends the weights (B, H, T, S) to `maps` when it is given. Returns (B, T, D).
        """
        if maps is not None or q.device.type == "cpu":
            # On a CPU three plain products beat the fused kernel at the lengths of sentences.
            context = weights(q, k, mask, maps) @ v
        else:
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.out(context.transpose(1, 2).flatten(2))


def weights(q: Tensor, k: Tensor, mask: Tensor | None, maps: list[Tensor] | None) -> Tensor:
    """softmax(Q K^T / sqrt(d_k)): AIAYN equation 1. (B, H, T, K), (B, H, S, K) -> (B, H, T, S)"""
    scores = (q * (1 / math.sqrt(q.size(-1)))) @ k.transpose(-1, -2)
    if mask is not None:
        scores = scores + mask
    attended = scores.softmax(-1)
    if maps is not None:
        maps.append(attended)
    return attended.to(q.dtype)


def padding_mask(padding: Tensor, dtype: torch.dtype) -> Tensor:
    """(B, S) true at padding -> (B, 1, 1, S): minus infinity where no one may look, 0 elsewhere."""
    return torch.zeros(padding.shape, dtype=dtype, device=padding.device).masked_fill_(padding, -math.inf)[
        :, None, None, :
    ]


def causal_mask(length: int, like: Tensor) -> Tensor:
    """(T, T): position t sees positions 0 .. t."""
    return torch.full((length, length), -math.inf, dtype=like.dtype, device=like.device).triu_(1)
