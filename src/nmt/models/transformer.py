"""The Transformer as AIAYN section 3 describes it: Post-LN, ReLU, one table for source, target and output."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.models.attention import MultiHeadAttention, causal_mask, padding_mask
from nmt.models.dropout import Dropout
from nmt.models.positions import LearnedPositions, SinusoidalPositions
from nmt.models.protocol import PAD

# B sentences, S source length, T target length, D d_model, V vocabulary, R = B * beam rows


class FeedForward(nn.Module):
    """max(0, x W1 + b1) W2 + b2: AIAYN equation 2."""

    def __init__(self, d_model: int, d_ff: int):
        super().__init__()
        self.inner, self.outer = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        for linear in (self.inner, self.outer):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.zeros_(linear.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.outer(F.relu(self.inner(x)))


class Residual(nn.Module):
    """LayerNorm(x + Dropout(sublayer(x))): AIAYN sections 3.1 and 5.4."""

    def __init__(self, config: configuration.Transformer):
        super().__init__()
        self.norm, self.dropout = nn.LayerNorm(config.d_model), Dropout(config.dropout)

    def forward(self, x: Tensor, sublayer: Tensor) -> Tensor:
        return self.norm(x + self.dropout(sublayer))


def attention(config: configuration.Transformer) -> MultiHeadAttention:
    return MultiHeadAttention(config.d_model, config.heads, config.key_width, config.value_width)


class EncoderLayer(nn.Module):
    def __init__(self, config: configuration.Transformer):
        super().__init__()
        self.self_attention, self.after_self = attention(config), Residual(config)
        self.feed_forward, self.after_feed_forward = FeedForward(config.d_model, config.d_ff), Residual(config)

    def forward(self, x: Tensor, mask: Tensor, maps: list[Tensor] | None) -> Tensor:
        """(B, S, D) -> (B, S, D)"""
        x = self.after_self(x, self.self_attention(*self.self_attention.project(x), mask, maps))
        return self.after_feed_forward(x, self.feed_forward(x))


class DecoderLayer(nn.Module):
    def __init__(self, config: configuration.Transformer):
        super().__init__()
        self.self_attention, self.after_self = attention(config), Residual(config)
        self.cross_attention, self.after_cross = attention(config), Residual(config)
        self.feed_forward, self.after_feed_forward = FeedForward(config.d_model, config.d_ff), Residual(config)

    def forward(
        self,
        x: Tensor,
        memory: tuple[Tensor, Tensor],
        causal: Tensor,
        padding: Tensor,
        maps: dict[str, list[Tensor]] | None,
    ) -> Tensor:
        """Teacher forcing: (B, T, D) -> (B, T, D); `memory` holds the source's keys and values."""
        own, cross = (maps["decoder"], maps["cross"]) if maps else (None, None)
        x = self.after_self(x, self.self_attention(*self.self_attention.project(x), causal, own))
        q = self.cross_attention.queries(x)
        x = self.after_cross(x, self.cross_attention(q, *memory, padding, cross))
        return self.after_feed_forward(x, self.feed_forward(x))

    def step(self, x: Tensor, cache: "LayerCache", padding: Tensor) -> Tensor:
        """One position: (R, 1, D) -> (R, 1, D); the cache gains this position's keys and values."""
        q, k, v = self.self_attention.project(x)
        cache.append(k, v)
        x = self.after_self(x, self.self_attention(q, cache.keys, cache.values, None))
        # All beams of a sentence look at one copy of its memory: they are the queries of one batch entry.
        sentences = padding.size(0)
        beams = x.view(sentences, -1, x.size(-1))  # (R, 1, D) -> (B, beam, D)
        q = self.cross_attention.queries(beams)
        crossed = self.cross_attention(q, *cache.memory, padding)
        x = self.after_cross(x, crossed.view(x.shape))
        return self.after_feed_forward(x, self.feed_forward(x))


@dataclass
class LayerCache:
    """keys (R, H, t, K) and values (R, H, t, U) of the target so far; memory: those of the source, (B, H, S, ...)."""

    memory: tuple[Tensor, Tensor]
    keys: Tensor | None = None
    values: Tensor | None = None

    def append(self, k: Tensor, v: Tensor) -> None:
        self.keys = k if self.keys is None else torch.cat([self.keys, k], dim=2)
        self.values = v if self.values is None else torch.cat([self.values, v], dim=2)


@dataclass
class State:
    caches: list[LayerCache]
    padding: Tensor  # (B, 1, 1, S)
    beam: int
    position: int = 0

    def reorder(self, rows: Tensor) -> None:
        sentences, rows = rows[:, 0] // self.beam, rows.flatten()
        same_sentences = len(sentences) == len(self.padding)
        for cache in self.caches:
            cache.keys, cache.values = cache.keys[rows], cache.values[rows]
            if not same_sentences:
                cache.memory = tuple(part[sentences] for part in cache.memory)
        if not same_sentences:
            self.padding = self.padding[sentences]


class Transformer(nn.Module):
    def __init__(self, config: configuration.Transformer, vocabulary_size: int):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary_size, config.d_model)
        nn.init.normal_(self.embedding.weight, std=config.d_model**-0.5)
        self.output = nn.Linear(config.d_model, vocabulary_size, bias=False)
        self.output.weight = self.embedding.weight  # AIAYN section 3.4
        if config.positions == "learned":
            self.source_positions = LearnedPositions(config.d_model, config.max_positions)
            self.target_positions = LearnedPositions(config.d_model, config.max_positions)
        else:
            self.source_positions = self.target_positions = SinusoidalPositions(config.d_model)
        self.scale = math.sqrt(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))

    def embed(self, tokens: Tensor, positions: nn.Module, start: int = 0) -> Tensor:
        """(B, T) -> (B, T, D): table times sqrt(d_model) plus positions, then dropout (AIAYN sections 3.4, 5.4)."""
        embedded = self.embedding(tokens) * self.scale + positions(start, tokens.size(1))
        return self.dropout(embedded)

    def encode(self, source: Tensor, maps: list[Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """(B, S) -> states (B, S, D) and the mask (B, 1, 1, S) of their padding."""
        x = self.embed(source, self.source_positions)
        padding = padding_mask(source == PAD, x.dtype)
        for layer in self.encoder:
            x = layer(x, padding, maps)
        return x, padding

    def decode(
        self, memory: tuple[Tensor, Tensor], target_in: Tensor, maps: dict[str, list[Tensor]] | None = None
    ) -> Tensor:
        """(B, T) -> (B, T, D). Padding in the target needs no mask: it stands behind all that matters."""
        states, padding = memory
        x = self.embed(target_in, self.target_positions)
        causal = causal_mask(target_in.size(1), x)
        for layer in self.decoder:
            x = layer(x, layer.cross_attention.keys_values(states), causal, padding, maps)
        return x

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        return self.decode(self.encode(source), target_in)

    def start(self, memory: tuple[Tensor, Tensor], beam: int) -> State:
        states, padding = memory
        return State([LayerCache(layer.cross_attention.keys_values(states)) for layer in self.decoder], padding, beam)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        x = self.embed(tokens[:, None], self.target_positions, state.position)
        for layer, cache in zip(self.decoder, state.caches, strict=True):
            x = layer.step(x, cache, state.padding)
        state.position += 1
        return self.output(x[:, 0]).float().log_softmax(-1), state

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        """Cross-attention of every decoder layer, "layer 1" and so on: (B, H, T, S) each."""
        maps: dict[str, list[Tensor]] = {"decoder": [], "cross": []}
        self.decode(self.encode(source), target_in, maps)
        return {f"layer {number}": weights for number, weights in enumerate(maps["cross"], start=1)}
