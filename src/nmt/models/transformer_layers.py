"""Layers of the Transformer: attention and feed-forward network, each in a residual connection.

AIAYN sections 3.1 to 3.3.
"""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from nmt.configuration import SelfAttention
from nmt.models.attention import (
    KeyValueCache,
    apply_self_attention,
    cross_attention,
    self_attention,
)
from nmt.models.dropout import Dropout
from nmt.models.layout import Layout

# B sentences, S source length, T target length, D d_model, F d_ff, H heads, d_k width of a head's
# queries and keys, d_v of its values, R = B * beam rows


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2: AIAYN equation 2, or with GELU (Hendrycks and Gimpel 2016)."""

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.activation = ACTIVATIONS[config.activation]
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each position: (B, T, D) -> (B, T, F) -> (B, T, D)."""
        return self.outer(self.activation(self.inner(x)))


class Residual(nn.Module):
    """The residual connection, dropout and LayerNorm around a sublayer f.

    Post-LN: LayerNorm(x + Dropout(f(x))), AIAYN sections 3.1 and 5.4.
    Pre-LN: x + Dropout(f(LayerNorm(x))).

    Layers have one for each sublayer: `after_self` around self-attention, `after_cross` around
    cross-attention, `after_feed_forward`. Checkpoints use these names.
    """

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.pre_norm = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply the sublayer: (B, T, D) -> (B, T, D)."""
        if self.pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


def final_norm(config: SelfAttention) -> nn.LayerNorm | nn.Identity:
    """Return the norm at the end of a stack.

    With Pre-LN the sum of all layers has not been normalized, so a LayerNorm follows (Xiong et al.
    2020). With Post-LN nothing does.
    """
    return nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()


def token_embedding(size: int, d_model: int) -> nn.Embedding:
    """Return an embedding table (V, D), initialized normal with deviation 1 / sqrt(D).

    Embeddings are multiplied by sqrt(D) when they are looked up (AIAYN section 3.4), and then have
    unit variance.
    """
    embedding = nn.Embedding(size, d_model)
    nn.init.normal_(embedding.weight, std=d_model**-0.5)
    return embedding


class EncoderLayer(nn.Module):
    """Self-attention and feed-forward network: AIAYN section 3.1, left side of figure 1."""

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.self_attention = self_attention(config)
        self.after_self = Residual(config)
        self.feed_forward = FeedForward(config)
        self.after_feed_forward = Residual(config)

    def forward(
        self,
        x: Tensor,
        where: Layout,
        cache: KeyValueCache | None = None,
        maps: list[Tensor] | None = None,
    ) -> Tensor:
        """Transform hidden states: (B, S, D) -> (B, S, D).

        cache, maps: as apply_self_attention has them.
        """

        def attend(y: Tensor) -> Tensor:
            return apply_self_attention(self.self_attention, y, where, cache, maps)

        x = self.after_self(x, attend)
        return self.after_feed_forward(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention and feed-forward network: AIAYN section 3.1, figure 1."""

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.self_attention = self_attention(config)
        self.after_self = Residual(config)
        self.cross_attention = cross_attention(config)
        self.after_cross = Residual(config)
        self.feed_forward = FeedForward(config)
        self.after_feed_forward = Residual(config)

    def forward(
        self,
        x: Tensor,
        where: Layout,
        source_keys_values: tuple[Tensor, Tensor],
        where_in_source: Layout,
        maps: list[Tensor] | None,
        self_maps: list[Tensor] | None = None,
    ) -> Tensor:
        """Transform the hidden states of all target positions: (B, T, D) -> (B, T, D).

        where, where_in_source: of self-attention, which is causal, and of cross-attention.
        source_keys_values: the source's projected keys (B, H, S, d_k) and values (B, H, S, d_v).
        maps, self_maps: lists to which the weights of cross-attention (B, H, T, S) and of
        self-attention (B, H, T, T) are appended.
        """

        def attend(y: Tensor) -> Tensor:
            return apply_self_attention(self.self_attention, y, where, maps=self_maps)

        def attend_to_source(y: Tensor) -> Tensor:
            queries = self.cross_attention.queries(y)
            return self.cross_attention(queries, *source_keys_values, where_in_source, maps)

        x = self.after_self(x, attend)
        x = self.after_cross(x, attend_to_source)
        return self.after_feed_forward(x, self.feed_forward)

    def step(
        self,
        x: Tensor,
        where: Layout,
        cache: KeyValueCache,
        source_keys_values: tuple[Tensor, Tensor],
        where_in_source: Layout,
    ) -> Tensor:
        """Transform the hidden states of one position: (R, 1, D) -> (R, 1, D).

        cache: keys and values of the target positions before; those of this one are appended.
        source_keys_values, where_in_source: as `forward` has them, once for all beams of a
        sentence.
        """

        def attend(y: Tensor) -> Tensor:
            return apply_self_attention(self.self_attention, y, where, cache)

        def attend_to_source(y: Tensor) -> Tensor:
            # The beams of a sentence are the queries of one batch entry: they share one copy of the
            # source's keys and values.
            beams = y.view(
                source_keys_values[0].size(0), -1, y.size(-1)
            )  # (R, 1, D) -> (B, beam, D)
            queries = self.cross_attention.queries(beams)
            context = self.cross_attention(queries, *source_keys_values, where_in_source)
            return context.view(y.shape)

        x = self.after_self(x, attend)
        x = self.after_cross(x, attend_to_source)
        return self.after_feed_forward(x, self.feed_forward)
