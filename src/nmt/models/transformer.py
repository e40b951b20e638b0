"""The Transformer of AIAYN section 3, and what later work changed in it."""

import math
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from nmt import configuration
from nmt.data.sequences import Sequences, Source
from nmt.models.attention import by_layer, recorded
from nmt.models.dropout import Dropout
from nmt.models.layout import layout
from nmt.models.positions import position_encoding
from nmt.models.protocol import HiddenStates, Model, State
from nmt.models.transformer_layers import DecoderLayer, EncoderLayer, final_norm, token_embedding

# B sentences, S source length, T target length, D d_model, H heads, d_k width of a head's queries
# and keys, d_v of its values, V vocabulary, R = B * beam rows


class Transformer(Model):
    """The encoder-decoder Transformer: AIAYN section 3.

    Source (B, S) and target (B, T) are embedded as (B, S, D) and (B, T, D), and keep this shape
    through all layers; `output` maps (B, T, D) to logits (B, T, V).
    """

    repeatable = True

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
        self.neighborhood = config.neighborhood
        self.dropout = Dropout(config.dropout)
        self.encoder: Any = nn.ModuleList(EncoderLayer(config) for _ in range(config.layers))
        self.decoder: Any = nn.ModuleList(DecoderLayer(config) for _ in range(config.layers))
        self.encoder_norm = final_norm(config)
        self.decoder_norm = final_norm(config, config.final_norm)

    def embed(self, rows: Sequences, embedding: nn.Embedding, positions: nn.Module) -> Tensor:
        """Embed tokens: (B, T) -> (B, T, D).

        The embeddings are multiplied by sqrt(D), positions are added, then comes dropout (AIAYN
        sections 3.4, 3.5 and 5.4).
        """
        x = embedding(rows.tokens) * self.scale
        return self.dropout(positions(x, rows.positions, rows.end))

    def encode(self, source: Source) -> Tensor:
        """Return encoder states: (B, S) -> (B, S, D)."""
        x = self.embed(source, self.source_embedding, self.source_positions)
        where = layout(source, source, x.dtype, reach=self.neighborhood)
        for layer in self.encoder:
            x = layer(x, where)
        return self.encoder_norm(x)

    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, D)."""
        encoder_states = self.encode(source)
        x = self.embed(target, self.target_embedding, self.target_positions)
        where = layout(target, target, x.dtype, causal=True, reach=self.neighborhood)
        where_in_source = layout(target, source, x.dtype)
        for layer in self.decoder:
            keys_values = layer.cross_attention.keys_values(encoder_states)
            x = layer(x, where, keys_values, where_in_source)
        return HiddenStates(self.decoder_norm(x))

    def start(self, source: Source) -> State:
        """Return the state before the first step.

        Shared are for each layer the source's projected keys (B, H, S, d_k) and values
        (B, H, S, d_v), and the layout of cross-attention.
        """
        encoder_states = self.encode(source)
        projected = (layer.cross_attention.keys_values(encoder_states) for layer in self.decoder)
        # Every step multiplies by them, and would have to copy them if they were not contiguous.
        contiguous = [(keys.contiguous(), values.contiguous()) for keys, values in projected]
        caches = [[keys[:, :, :0], values[:, :, :0]] for keys, values in contiguous]
        first = Sequences.of(source.tokens[:, :1])
        where_in_source = layout(first, source, encoder_states.dtype)
        return State(source.tokens, (contiguous, where_in_source), (), caches)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Decode one position: (R,) -> (R, 1, D) -> (R, D)."""
        all_keys_values, where_in_source = state.shared
        end = state.caches[0][0].size(2)
        last = Sequences(tokens[:, None], state.length[None], None, end)
        x = self.embed(last, self.target_embedding, self.target_positions)
        cached = replace(last, positions=torch.arange(end, device=tokens.device))
        where = layout(last, cached, x.dtype, causal=True, reach=self.neighborhood)
        where = replace(where, columns=last.positions)
        layers = zip(self.decoder, all_keys_values, state.caches, strict=True)
        for layer, keys_values, cache in layers:
            x = layer(x, where, keys_values, where_in_source, cache)
        state.length = state.length + 1
        return self.decoder_norm(x[:, 0])

    def attention(self, source: Source, target: Sequences) -> dict[str, Tensor]:
        """Return the weights of cross-attention (B, H, T, S) of each decoder layer.

        They are named "layer 1" and so on.
        """
        with recorded(layer.cross_attention for layer in self.decoder) as maps:
            self(source, target)
        return by_layer(maps)

    def self_attention(self, source: Source, target: Sequences) -> dict[str, dict[str, Tensor]]:
        """Return the encoder's self-attention (B, H, S, S) and the decoder's (B, H, T, T)."""
        with (
            recorded(layer.self_attention for layer in self.encoder) as encoder_maps,
            recorded(layer.self_attention for layer in self.decoder) as decoder_maps,
        ):
            self(source, target)
        return {"encoder": by_layer(encoder_maps), "decoder": by_layer(decoder_maps)}
