"""The Transformer of AIAYN section 3, and what later work changed in it."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.configuration import SelfAttention
from nmt.models.attention import (
    MultiHeadAttention,
    causal_mask,
    cross_attention,
    padding_mask,
    self_attention,
)
from nmt.models.dropout import Dropout
from nmt.models.positions import positions
from nmt.models.protocol import PAD, Hidden

# B sentences, S source length, T target length, D d_model, V vocabulary, R = B * beam rows


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2: AIAYN equation 2, or with GELU (Hendrycks and Gimpel 2016) in the
    place of max.
    """

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.inner, self.outer = (
            nn.Linear(config.d_model, config.d_ff),
            nn.Linear(config.d_ff, config.d_model),
        )
        self.activation = {"relu": F.relu, "gelu": F.gelu}[config.activation]
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(self.activation(self.inner(x)))


class Residual(nn.Module):
    """Post-LN: LayerNorm(x + Dropout(f(x))), AIAYN sections 3.1 and 5.4. Pre-LN: x +
    Dropout(f(LayerNorm(x))).
    """

    def __init__(self, config: SelfAttention):
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(config.d_model), Dropout(config.dropout)
        self.pre = config.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre:
            return x + self.dropout(sublayer(self.norm(x)))
        return self.norm(x + self.dropout(sublayer(x)))


def last_norm(config: SelfAttention) -> nn.Module:
    """Pre-LN leaves the sum of all layers without a norm, so a stack ends with one (Xiong et al.
    2020).
    """
    return nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()


class Cache:
    """Keys (R, H, t, K) and values (R, H, t, U) of a layer's t positions so far.

    Following the beams is one copy, which leaves room for one position more: once that is written,
    both are in one piece, as the products of attention want them.
    """

    def __init__(self, past: tuple[Tensor, ...] = ()):
        self.past, self.length = past, past[0].size(2) if past else 0

    def append(self, *new: Tensor) -> tuple[Tensor, ...]:
        """(R, H, n, K), (R, H, n, U) of n more positions -> those of all, (R, H, t + n, ...)."""
        end = self.length + new[0].size(2)
        if not self.past:
            self.past = new
        elif end <= self.past[0].size(2):
            for past, more in zip(self.past, new, strict=True):
                past[:, :, self.length : end] = more
        else:
            both = zip(self.past, new, strict=True)
            self.past = tuple(
                torch.cat([past[:, :, : self.length], more], 2) for past, more in both
            )
        self.length = end
        return self.past

    @torch.no_grad()
    def reorder(self, rows: Tensor) -> None:
        """Keeps `rows` (R',) of the R."""
        kept = []
        for past in self.past:
            _, heads, _, width = past.shape
            kept.append(past.new_empty(len(rows), heads, self.length + 1, width))
            torch.index_select(
                past[:, :, : self.length], 0, rows, out=kept[-1][:, :, : self.length]
            )
        self.past = tuple(kept)


def attend_itself(
    attention: MultiHeadAttention,
    x: Tensor,
    mask: Tensor | None,
    cache: Cache | None = None,
    maps: list[Tensor] | None = None,
) -> Tensor:
    """Self-attention of (B, T, D), which stands behind what the cache holds and is added to it."""
    q, k, v = attention.project(x, cache.length if cache else 0)
    if cache:
        k, v = cache.append(k, v)
    return attention(q, k, v, mask, maps)


class EncoderLayer(nn.Module):
    def __init__(self, config: SelfAttention):
        super().__init__()
        self.self_attention, self.after_self = self_attention(config), Residual(config)
        self.feed_forward, self.after_feed_forward = FeedForward(config), Residual(config)

    def forward(
        self, x: Tensor, mask: Tensor, cache: Cache | None = None, maps: list[Tensor] | None = None
    ) -> Tensor:
        """(B, S, D) -> (B, S, D)"""
        x = self.after_self(x, lambda y: attend_itself(self.self_attention, y, mask, cache, maps))
        return self.after_feed_forward(x, self.feed_forward)


class DecoderLayer(nn.Module):
    def __init__(self, config: SelfAttention):
        super().__init__()
        self.self_attention, self.after_self = self_attention(config), Residual(config)
        self.cross_attention, self.after_cross = cross_attention(config), Residual(config)
        self.feed_forward, self.after_feed_forward = FeedForward(config), Residual(config)

    def forward(
        self,
        x: Tensor,
        memory: tuple[Tensor, Tensor],
        causal: Tensor,
        padding: Tensor,
        maps: list[Tensor] | None,
    ) -> Tensor:
        """Teacher forcing: (B, T, D) -> (B, T, D); `memory` holds the source's keys and values."""
        x = self.after_self(x, lambda y: attend_itself(self.self_attention, y, causal))
        x = self.after_cross(
            x,
            lambda y: self.cross_attention(self.cross_attention.queries(y), *memory, padding, maps),
        )
        return self.after_feed_forward(x, self.feed_forward)

    def step(
        self, x: Tensor, cache: Cache, memory: tuple[Tensor, Tensor], padding: Tensor
    ) -> Tensor:
        """One position: (R, 1, D) -> (R, 1, D); the cache gains this position's keys and values."""

        def crossed(y: Tensor) -> Tensor:
            # All beams of a sentence look at one copy of its memory: they are the queries of one
            # batch entry.
            beams = y.view(padding.size(0), -1, y.size(-1))  # (R, 1, D) -> (B, beam, D)
            return self.cross_attention(self.cross_attention.queries(beams), *memory, padding).view(
                y.shape
            )

        x = self.after_self(x, lambda y: attend_itself(self.self_attention, y, None, cache))
        x = self.after_cross(x, crossed)
        return self.after_feed_forward(x, self.feed_forward)


@dataclass
class State:
    caches: list[Cache]
    memory: list[
        tuple[Tensor, Tensor]
    ]  # the source's keys and values for each layer, (B, H, S, ...)
    padding: Tensor  # (B, 1, 1, S)
    beam: int

    def reorder(self, rows: Tensor) -> None:
        for cache in self.caches:
            cache.reorder(rows.flatten())
        if len(rows) < len(self.padding):
            sentences = rows[:, 0] // self.beam
            self.memory = [(keys[sentences], values[sentences]) for keys, values in self.memory]
            self.padding = self.padding[sentences]


def table(size: int, d_model: int) -> nn.Embedding:
    """Its rows are multiplied by sqrt(d_model) as they enter (AIAYN section 3.4): then they have
    unit variance.
    """
    embedding = nn.Embedding(size, d_model)
    nn.init.normal_(embedding.weight, std=d_model**-0.5)
    return embedding


class Transformer(nn.Module):
    def __init__(self, config: configuration.Transformer, source_size: int, target_size: int):
        super().__init__()
        d_model = config.d_model
        self.target_embedding = table(target_size, d_model)
        self.source_embedding = (
            self.target_embedding if config.tie == "all" else table(source_size, d_model)
        )
        self.output = nn.Linear(d_model, target_size, bias=False)
        if config.tie == "none":
            nn.init.normal_(self.output.weight, std=d_model**-0.5)
        else:
            self.output.weight = self.target_embedding.weight
        self.source_positions, self.target_positions = positions(config), positions(config)
        self.scale = math.sqrt(d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.encoder_norm, self.decoder_norm = last_norm(config), last_norm(config)

    def embed(
        self, tokens: Tensor, embedding: nn.Embedding, positions: nn.Module, start: int = 0
    ) -> Tensor:
        """(B, T) -> (B, T, D): table times sqrt(d_model) plus positions, then dropout (AIAYN
        sections 3.4, 5.4).
        """
        return self.dropout(positions(embedding(tokens) * self.scale, start))

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S) -> states (B, S, D) and the mask (B, 1, 1, S) of their padding."""
        x = self.embed(source, self.source_embedding, self.source_positions)
        padding = padding_mask(source == PAD, x.dtype)
        for layer in self.encoder:
            x = layer(x, padding)
        return self.encoder_norm(x), padding

    def decode(
        self, memory: tuple[Tensor, Tensor], target_in: Tensor, maps: list[Tensor] | None = None
    ) -> Tensor:
        """(B, T) -> (B, T, D). Padding in the target needs no mask: it stands behind all that
        matters.
        """
        states, padding = memory
        x = self.embed(target_in, self.target_embedding, self.target_positions)
        causal = causal_mask(target_in.size(1), x)
        for layer in self.decoder:
            x = layer(x, layer.cross_attention.keys_values(states), causal, padding, maps)
        return self.decoder_norm(x)

    def forward(self, source: Tensor, target_in: Tensor) -> Hidden:
        return Hidden(self.decode(self.encode(source), target_in))

    def start(self, memory: tuple[Tensor, Tensor], beam: int) -> State:
        states, padding = memory
        projected = [layer.cross_attention.keys_values(states) for layer in self.decoder]
        # Every step multiplies by them: in one piece, they need no copy then.
        whole = [(keys.contiguous(), values.contiguous()) for keys, values in projected]
        return State([Cache() for _ in self.decoder], whole, padding, beam)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        x = self.embed(
            tokens[:, None], self.target_embedding, self.target_positions, state.caches[0].length
        )
        for layer, cache, memory in zip(self.decoder, state.caches, state.memory, strict=True):
            x = layer.step(x, cache, memory, state.padding)
        return self.decoder_norm(x[:, 0]), state

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        """Cross-attention of every decoder layer, "layer 1" and so on: (B, H, T, S) each."""
        maps: list[Tensor] = []
        self.decode(self.encode(source), target_in, maps)
        return {f"layer {number}": weights for number, weights in enumerate(maps, start=1)}
