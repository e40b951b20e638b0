"""Layers of the Transformer: attention and feed-forward network, each in a residual connection.

AIAYN sections 3.1 to 3.3.
"""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.models.attention import CrossAttention, SelfAttention
from nmt.models.dropout import Dropout
from nmt.models.layout import Layout
from nmt.models.protocol import Cache

# B sentences, S source length, T target length, D d_model, F d_ff, H heads, d_k width of a head's
# queries and keys, d_v of its values, R = B * beam rows


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2: AIAYN equation 2, or with GELU (Hendrycks and Gimpel 2016)."""

    def __init__(self, config: configuration.SelfAttention):
        super().__init__()
        self.inner = nn.Linear(config.d_model, config.d_ff)
        self.outer = nn.Linear(config.d_ff, config.d_model)
        self.activation = getattr(F, config.activation)
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

    def __init__(self, config: configuration.SelfAttention):
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.pre_norm = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        """Apply the sublayer: (B, T, D) -> (B, T, D)."""
        if self.pre_norm:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


def final_norm(
    config: configuration.SelfAttention, asked_for: bool = False
) -> nn.LayerNorm | nn.Identity:
    """Return the norm at the end of a stack.

    With Pre-LN the sum of all layers has not been normalized, so a LayerNorm follows (Xiong et al.
    2020). With Post-LN nothing does unless it is asked for.
    """
    needed = asked_for or config.norm == "pre"
    return nn.LayerNorm(config.d_model) if needed else nn.Identity()


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

    def __init__(self, config: configuration.SelfAttention):
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.after_self = Residual(config)
        self.feed_forward = FeedForward(config)
        self.after_feed_forward = Residual(config)

    def forward(self, x: Tensor, where: Layout, cache: Cache | None = None) -> Tensor:
        """Transform hidden states: (B, S, D) -> (B, S, D).

        where, cache: those of self-attention.
        """
        x = self.after_self(x, lambda y: self.self_attention(y, where, cache))
        return self.after_feed_forward(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention and feed-forward network: AIAYN section 3.1, figure 1."""

    def __init__(self, config: configuration.SelfAttention):
        super().__init__()
        self.self_attention = SelfAttention(config)
        self.after_self = Residual(config)
        self.cross_attention = CrossAttention(config)
        self.after_cross = Residual(config)
        self.feed_forward = FeedForward(config)
        self.after_feed_forward = Residual(config)

    def forward(
        self,
        x: Tensor,
        where: Layout,
        source_keys_values: tuple[Tensor, Tensor],
        where_in_source: Layout,
        cache: Cache | None = None,
    ) -> Tensor:
        """Transform the hidden states of some target positions: (R, T, D) -> (R, T, D).

        where, cache: those of self-attention. source_keys_values, where_in_source: those of
        cross-attention, (B, H, S, d_k) and (B, H, S, d_v).
        """
        x = self.after_self(x, lambda y: self.self_attention(y, where, cache))
        x = self.after_cross(
            x, lambda y: self.cross_attention(y, *source_keys_values, where_in_source)
        )
        return self.after_feed_forward(x, self.feed_forward)
