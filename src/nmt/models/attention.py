"""Scaled dot-product and multi-head attention: AIAYN section 3.2."""

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.device import autocast
from nmt.models.layout import Layout
from nmt.models.position_bias import PositionBias, position_bias
from nmt.models.protocol import Cache

# B batch, T queries, S keys, D d_model, H heads, d_k width of a head's queries and keys, d_v of its
# values


class MultiHeadAttention(nn.Module):
    """Concat(head_1, ..., head_H) W^O with head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V).

    AIAYN section 3.2.2; as in its formula, the projections usually have no bias. `qkv` holds
    W^Q, W^K and W^V of all heads, so that self-attention needs one matrix product; `widths` are the
    output widths of these three. maps: a list to which the weights (B, H, T, S) are appended; see
    `recorded`.
    """

    maps: list[Tensor] | None = None

    def __init__(self, config: configuration.SelfAttention, position_bias: PositionBias):
        super().__init__()
        key_width = config.heads * config.key_width
        value_width = config.heads * config.value_width
        self.heads = config.heads
        self.widths = [key_width, key_width, value_width]
        self.position_bias = position_bias
        self.qkv = nn.Linear(config.d_model, sum(self.widths), bias=config.attention_bias)
        self.out = nn.Linear(value_width, config.d_model, bias=config.attention_bias)
        # W^Q, W^K and W^V are initialized as one matrix, as torch.nn.MultiheadAttention does it, so
        # they start smaller by sqrt(2) than each on its own. From the larger values the Post-LN
        # encoder of a small model on Multi30k came to map all positions to one state, and attention
        # never learned. Noci et al. 2022, section 1 and figure 1, describe this rank collapse, in
        # which the gradients of queries and keys vanish.
        for projection in (self.qkv, self.out):
            nn.init.xavier_uniform_(projection.weight)
            if projection.bias is not None:
                nn.init.zeros_(projection.bias)

    def project(self, x: Tensor, part: slice) -> Tensor:
        """Map to those outputs of `qkv` alone: (B, T, D) -> (B, T, their width)."""
        bias = self.qkv.bias
        return F.linear(x, self.qkv.weight[part], None if bias is None else bias[part])

    def split_heads(self, x: Tensor) -> Tensor:
        """Split the width among heads: (B, T, H * d_k) -> (B, H, T, d_k), or the same with d_v."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, where: Layout) -> Tensor:
        """Attend with projected queries, keys and values; return (B, T, D).

        q: (B, H, T, d_k). k: (B, H, S, d_k). v: (B, H, S, d_v).
        """
        mask = where.mask
        bias = self.position_bias.score_bias(q, where)
        if bias is not None:
            mask = bias if mask is None else mask + bias
        q = self.position_bias.of_content(q)
        needs_weights = self.maps is not None or self.position_bias.adds_to_context
        if needs_weights or prefers_matmul(q):
            weights = attention_weights(q, k, mask)
            if self.maps is not None:
                self.maps.append(weights)
            context = weights @ v  # (B, H, T, d_v)
            if self.position_bias.adds_to_context:
                context = context + self.position_bias.context_bias(weights, where)
        else:
            context = F.scaled_dot_product_attention(q, k, v, mask)
        return self.out(context.transpose(1, 2).flatten(2))


class SelfAttention(MultiHeadAttention):
    """Self-attention, with relative, rotary or ALiBi positions if these are configured."""

    def __init__(self, config: configuration.SelfAttention):
        super().__init__(config, position_bias(config))

    def forward(self, x: Tensor, where: Layout, cache: Cache | None = None) -> Tensor:
        """Attend from x to x: (B, T, D) -> (B, T, D).

        cache: keys and values of the positions before x, with room for those of x, which attends to
        both. If it is empty, it gets those of x.
        """
        q, k, v = (self.split_heads(part) for part in self.qkv(x).split(self.widths, dim=-1))
        rotate = self.position_bias.rotate
        q, k = rotate(q, where.queries), rotate(k, where.queries)
        if cache:
            assert where.columns is not None
            for past, new in zip(cache, (k, v), strict=True):
                past.index_copy_(2, where.columns, new)
            k, v = cache
        elif cache is not None:
            cache += k, v
        return self.attend(q, k, v, where)


class CrossAttention(MultiHeadAttention):
    """Cross-attention, which knows no positions: target and source have no distance."""

    def __init__(self, config: configuration.SelfAttention):
        super().__init__(config, PositionBias())

    def keys_values(self, encoder_states: Tensor) -> tuple[Tensor, Tensor]:
        """Return projected keys and values: (B, S, D) -> (B, H, S, d_k), (B, H, S, d_v)."""
        projected = self.project(encoder_states, slice(self.widths[0], None))
        keys, values = projected.split(self.widths[1:], dim=-1)
        return self.split_heads(keys), self.split_heads(values)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, where: Layout) -> Tensor:
        """Attend from x to the source: (R, T, D) -> (R, T, D), for R = B * beam.

        The beams of a sentence are the queries of one batch entry: they share one copy of the
        source's keys and values.
        """
        beams = x.view(len(keys), -1, x.size(-1))  # (B, beam * T, D)
        queries = self.split_heads(self.project(beams, slice(self.widths[0])))
        return self.attend(queries, keys, values, where).view(x.shape)


def prefers_matmul(q: Tensor) -> bool:
    """Return whether plain matrix products are faster than torch's fused kernel.

    They are on a CPU, for sequences as short as sentences, and on a GPU for one query, of which the
    kernel makes 64.
    """
    return q.device.type == "cpu" or q.size(2) == 1


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None) -> Tensor:
    """Return softmax(Q K^T / sqrt(d_k)), a part of AIAYN equation 1.

    (B, H, T, d_k), (B, H, S, d_k) -> (B, H, T, S)
    """
    scores = (q * (1 / math.sqrt(q.size(-1)))) @ k.transpose(-1, -2)
    if mask is not None:
        scores = scores + mask.to(scores.dtype)
    # Autocast would convert the scores to float32, and the product with the values would convert
    # the weights back; softmax adds up in float32 in any case.
    with autocast(q.device, None):
        return scores.softmax(-1)


@contextmanager
def recorded(attentions: Iterable[MultiHeadAttention]) -> Iterator[list[Tensor]]:
    """Yield a list to which these attentions append their weights (B, H, T, S)."""
    recording = list(attentions)
    maps: list[Tensor] = []
    try:
        for attention in recording:
            attention.maps = maps
        yield maps
    finally:
        for attention in recording:
            attention.maps = None


def by_layer(maps: list[Tensor]) -> dict[str, Tensor]:
    """Return the attention weights of all layers by name: "layer 1" and so on."""
    return {f"layer {number}": weights for number, weights in enumerate(maps, start=1)}
