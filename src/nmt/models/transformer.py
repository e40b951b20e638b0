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
from nmt.models.layers import Layers
from nmt.models.positions import position_encoding
from nmt.models.protocol import HiddenStates, Model, Source

# B sentences, S source length, T target length, D d_model, F d_ff, H heads, d_k width of a head's
# queries and keys, d_v of its values, V vocabulary, R = B * beam rows

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


class KeyValueCache:
    """One layer's keys (R, H, t, d_k) and values (R, H, t, d_v) of the t positions so far.

    `reorder` copies them into tensors that have room for one more position. After `append` has
    filled it they are contiguous, as attention's matrix products need them, without another copy.
    """

    def __init__(self, past: tuple[Tensor, ...] = ()):
        self.past = past
        self.length = past[0].size(2) if past else 0

    def append(self, *new: Tensor) -> tuple[Tensor, ...]:
        """Append the keys and values of n positions; return those of all positions.

        (R, H, n, d_k), (R, H, n, d_v) -> (R, H, t + n, d_k), (R, H, t + n, d_v)
        """
        end = self.length + new[0].size(2)
        if not self.past:
            self.past = new
        elif end <= self.past[0].size(2):
            for past, added in zip(self.past, new, strict=True):
                past[:, :, self.length : end] = added
        else:
            pairs = zip(self.past, new, strict=True)
            self.past = tuple(
                torch.cat([past[:, :, : self.length], added], 2) for past, added in pairs
            )
        self.length = end
        return self.past

    @torch.no_grad()
    def reorder(self, rows: Tensor) -> None:
        """Keep the rows with these indices (R',), in this order."""
        kept = []
        for past in self.past:
            _, heads, _, width = past.shape
            copy = past.new_empty(len(rows), heads, self.length + 1, width)
            torch.index_select(past[:, :, : self.length], 0, rows, out=copy[:, :, : self.length])
            kept.append(copy)
        self.past = tuple(kept)


def apply_self_attention(
    attention: MultiHeadAttention,
    x: Tensor,
    mask: Tensor | None,
    cache: KeyValueCache | None = None,
    maps: list[Tensor] | None = None,
) -> Tensor:
    """Return the output of self-attention: (B, T, D) -> (B, T, D).

    cache: keys and values of the positions before x; those of x are appended to it, and x attends
    to both. mask, maps: as MultiHeadAttention.forward has them.
    """
    q, k, v = attention.project(x, cache.length if cache else 0)
    if cache:
        k, v = cache.append(k, v)
    return attention(q, k, v, mask, maps)


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
        mask: Tensor,
        cache: KeyValueCache | None = None,
        maps: list[Tensor] | None = None,
    ) -> Tensor:
        """Transform hidden states: (B, S, D) -> (B, S, D).

        mask: added to the scores, broadcast to (B, H, S, S). cache, maps: as apply_self_attention
        has them.
        """

        def attend(y: Tensor) -> Tensor:
            return apply_self_attention(self.self_attention, y, mask, cache, maps)

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
        source_keys_values: tuple[Tensor, Tensor],
        source_mask: Tensor,
        target_mask: Tensor,
        maps: list[Tensor] | None,
        self_maps: list[Tensor] | None = None,
    ) -> Tensor:
        """Transform the hidden states of all target positions: (B, T, D) -> (B, T, D).

        source_keys_values: the source's projected keys (B, H, S, d_k) and values (B, H, S, d_v).
        source_mask: (B, 1, 1, S), hides padding. target_mask: (T, T), hides later positions.
        maps, self_maps: lists to which the weights of cross-attention (B, H, T, S) and of
        self-attention (B, H, T, T) are appended.
        """

        def attend(y: Tensor) -> Tensor:
            return apply_self_attention(self.self_attention, y, target_mask, maps=self_maps)

        def attend_to_source(y: Tensor) -> Tensor:
            queries = self.cross_attention.queries(y)
            return self.cross_attention(queries, *source_keys_values, source_mask, maps)

        x = self.after_self(x, attend)
        x = self.after_cross(x, attend_to_source)
        return self.after_feed_forward(x, self.feed_forward)

    def step(
        self,
        x: Tensor,
        cache: KeyValueCache,
        source_keys_values: tuple[Tensor, Tensor],
        source_mask: Tensor,
    ) -> Tensor:
        """Transform the hidden states of one position: (R, 1, D) -> (R, 1, D).

        cache: keys and values of the target positions before; those of this one are appended.
        source_keys_values, source_mask: as `forward` has them, once for all beams of a sentence.
        """

        def attend(y: Tensor) -> Tensor:
            return apply_self_attention(self.self_attention, y, None, cache)

        def attend_to_source(y: Tensor) -> Tensor:
            # The beams of a sentence are the queries of one batch entry: they share one copy of the
            # source's keys and values.
            beams = y.view(source_mask.size(0), -1, y.size(-1))  # (R, 1, D) -> (B, beam, D)
            queries = self.cross_attention.queries(beams)
            context = self.cross_attention(queries, *source_keys_values, source_mask)
            return context.view(y.shape)

        x = self.after_self(x, attend)
        x = self.after_cross(x, attend_to_source)
        return self.after_feed_forward(x, self.feed_forward)


@dataclass
class State:
    """The decoder's state between two steps.

    caches: for each layer the keys and values of the target positions so far.
    source_keys_values: for each layer the source's projected keys (B, H, S, d_k) and values
      (B, H, S, d_v).
    source_mask: (B, 1, 1, S).
    """

    caches: list[KeyValueCache]
    source_keys_values: list[tuple[Tensor, Tensor]]
    source_mask: Tensor
    beam: int

    def reorder(self, rows: Tensor) -> None:
        """Keep rows (B', beam) of the R."""
        for cache in self.caches:
            cache.reorder(rows.flatten())
        if len(rows) < len(self.source_mask):
            sentences = rows[:, 0] // self.beam
            self.source_keys_values = [
                (keys[sentences], values[sentences]) for keys, values in self.source_keys_values
            ]
            self.source_mask = self.source_mask[sentences]


class Transformer(Model):
    """The encoder-decoder Transformer: AIAYN section 3.

    Source (B, S) and target (B, T) are embedded as (B, S, D) and (B, T, D), and keep this shape
    through all layers; `output` maps (B, T, D) to logits (B, T, V).
    """

    def __init__(self, config: configuration.Transformer, source_size: int, target_size: int):
        super().__init__()
        d_model = config.d_model
        self.target_embedding = token_embedding(target_size, d_model)
        if config.tie == "all":
            self.source_embedding = self.target_embedding
        else:
            self.source_embedding = token_embedding(source_size, d_model)
        self.output = nn.Linear(d_model, target_size, bias=False)
        if config.tie == "none":
            nn.init.normal_(self.output.weight, std=d_model**-0.5)
        else:
            self.output.weight = self.target_embedding.weight
        self.source_positions = position_encoding(config)
        self.target_positions = position_encoding(config)
        self.scale = math.sqrt(d_model)
        self.dropout = Dropout(config.dropout)
        self.encoder = Layers(EncoderLayer(config) for _ in range(config.layers))
        self.decoder = Layers(DecoderLayer(config) for _ in range(config.layers))
        self.encoder_norm = final_norm(config)
        self.decoder_norm = final_norm(config)

    def embed(
        self, tokens: Tensor, embedding: nn.Embedding, positions: nn.Module, start: int = 0
    ) -> Tensor:
        """Embed tokens at positions `start` and on: (B, T) -> (B, T, D).

        The embeddings are multiplied by sqrt(D), positions are added, then comes dropout (AIAYN
        sections 3.4, 3.5 and 5.4).
        """
        return self.dropout(positions(embedding(tokens) * self.scale, start))

    def encode(self, source: Source, maps: list[Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """Encode the source: (B, S) -> encoder states (B, S, D), source mask (B, 1, 1, S).

        maps: a list to which the weights of self-attention (B, H, S, S) are appended, layer by
        layer.
        """
        x = self.embed(source.tokens, self.source_embedding, self.source_positions)
        source_mask = padding_mask(source.padding, x.dtype)
        for layer in self.encoder:
            x = layer(x, source_mask, maps=maps)
        return self.encoder_norm(x), source_mask

    def decode(
        self,
        encoded: tuple[Tensor, Tensor],
        target_in: Tensor,
        maps: list[Tensor] | None = None,
        self_maps: list[Tensor] | None = None,
    ) -> Tensor:
        """Run teacher forcing: (B, T) -> (B, T, D).

        encoded: what `encode` returned. maps, self_maps: lists to which the weights of
        cross-attention (B, H, T, S) and of self-attention (B, H, T, T) are appended, layer by
        layer. Padding of the target needs no mask of its own: it follows all tokens, so the causal
        mask hides it from them.
        """
        encoder_states, source_mask = encoded
        x = self.embed(target_in, self.target_embedding, self.target_positions)
        target_mask = causal_mask(target_in.size(1), x)
        for layer in self.decoder:
            source_keys_values = layer.cross_attention.keys_values(encoder_states)
            x = layer(x, source_keys_values, source_mask, target_mask, maps, self_maps)
        return self.decoder_norm(x)

    def forward(self, source: Source, target_in: Tensor) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, D)."""
        return HiddenStates(self.decode(self.encode(source), target_in))

    def start(self, encoded: tuple[Tensor, Tensor], beam: int) -> State:
        """Return the state before the first step, with the source's projected keys and values."""
        encoder_states, source_mask = encoded
        projected = [layer.cross_attention.keys_values(encoder_states) for layer in self.decoder]
        # Every step multiplies by them, and would have to copy them if they were not contiguous.
        contiguous = [(keys.contiguous(), values.contiguous()) for keys, values in projected]
        caches = [KeyValueCache() for _ in self.decoder]
        return State(caches, contiguous, source_mask, beam)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        """Decode one position: (R,) -> (R, 1, D) -> (R, D)."""
        position = state.caches[0].length
        x = self.embed(tokens[:, None], self.target_embedding, self.target_positions, position)
        layers = zip(self.decoder, state.caches, state.source_keys_values, strict=True)
        for layer, cache, source_keys_values in layers:
            x = layer.step(x, cache, source_keys_values, state.source_mask)
        return self.decoder_norm(x[:, 0]), state

    def attention(self, source: Source, target_in: Tensor) -> dict[str, Tensor]:
        """Return the weights of cross-attention (B, H, T, S) of each decoder layer.

        They are named "layer 1" and so on.
        """
        maps: list[Tensor] = []
        self.decode(self.encode(source), target_in, maps)
        return by_layer(maps)

    def self_attention(self, source: Source, target_in: Tensor) -> dict[str, dict[str, Tensor]]:
        """Return the encoder's self-attention (B, H, S, S) and the decoder's (B, H, T, T)."""
        encoder_maps: list[Tensor] = []
        decoder_maps: list[Tensor] = []
        self.decode(self.encode(source, encoder_maps), target_in, self_maps=decoder_maps)
        return {"encoder": by_layer(encoder_maps), "decoder": by_layer(decoder_maps)}


def by_layer(maps: list[Tensor]) -> dict[str, Tensor]:
    """Return the maps of all layers by name: "layer 1" and so on."""
    return {f"layer {number}": weights for number, weights in enumerate(maps, start=1)}
