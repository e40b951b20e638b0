"""The Transformer of AIAYN section 3, and what later work changed in it."""

import math

import torch
from torch import Tensor, nn

from nmt import configuration
from nmt.data.sequences import Sequences, Source
from nmt.models.attention import KeyValueCache, by_layer
from nmt.models.dropout import Dropout
from nmt.models.layers import Layers
from nmt.models.layout import Layout, layout
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

    def embed(self, rows: Sequences, embedding: nn.Embedding, positions: nn.Module) -> Tensor:
        """Embed tokens: (B, T) -> (B, T, D).

        The embeddings are multiplied by sqrt(D), positions are added, then comes dropout (AIAYN
        sections 3.4, 3.5 and 5.4).
        """
        x = embedding(rows.tokens) * self.scale
        return self.dropout(positions(x, rows.positions, rows.end))

    def encode(self, source: Source, maps: list[Tensor] | None = None) -> tuple[Tensor, Source]:
        """Return encoder states (B, S, D), and the source, which says what to attend to.

        maps: a list to which the weights of self-attention (B, H, S, S) are appended, layer by
        layer.
        """
        x = self.embed(source, self.source_embedding, self.source_positions)
        where = layout(source, source, x.dtype)
        for layer in self.encoder:
            x = layer(x, where, maps=maps)
        return self.encoder_norm(x), source

    def decode(
        self,
        encoded: tuple[Tensor, Source],
        target: Sequences,
        maps: list[Tensor] | None = None,
        self_maps: list[Tensor] | None = None,
    ) -> Tensor:
        """Run teacher forcing: (B, T) -> (B, T, D).

        encoded: what `encode` returned. maps, self_maps: lists to which the weights of
        cross-attention (B, H, T, S) and of self-attention (B, H, T, T) are appended, layer by
        layer.
        """
        encoder_states, source = encoded
        x = self.embed(target, self.target_embedding, self.target_positions)
        where = layout(target, target, x.dtype, causal=True)
        where_in_source = layout(target, source, x.dtype)
        for layer in self.decoder:
            source_keys_values = layer.cross_attention.keys_values(encoder_states)
            x = layer(x, where, source_keys_values, where_in_source, maps, self_maps)
        return self.decoder_norm(x)

    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, D)."""
        return HiddenStates(self.decode(self.encode(source), target))

    def start(self, source: Source) -> State:
        """Return the state before the first step.

        Shared are for each layer the source's projected keys (B, H, S, d_k) and values
        (B, H, S, d_v), and the layout of cross-attention. Each row has a cache for each layer.
        """
        encoder_states, _ = self.encode(source)
        projected = [layer.cross_attention.keys_values(encoder_states) for layer in self.decoder]
        # Every step multiplies by them, and would have to copy them if they were not contiguous.
        contiguous = [(keys.contiguous(), values.contiguous()) for keys, values in projected]
        caches = [KeyValueCache() for _ in self.decoder]
        first = Sequences.of(source.tokens[:, :1])
        where_in_source = layout(first, source, encoder_states.dtype)
        return State(len(source.tokens), (contiguous, where_in_source), caches)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Decode one position: (R,) -> (R, 1, D) -> (R, D)."""
        all_keys_values, where_in_source = state.shared
        state.length += 1
        positions = torch.arange(state.length, device=tokens.device)
        where = Layout(None, positions[-1:], positions)
        last = Sequences(tokens[:, None], where.queries, None, state.length)
        x = self.embed(last, self.target_embedding, self.target_positions)
        layers = zip(self.decoder, state.own, all_keys_values, strict=True)
        for layer, cache, source_keys_values in layers:
            x = layer.step(x, where, cache, source_keys_values, where_in_source)
        return self.decoder_norm(x[:, 0])

    def attention(self, source: Source, target: Sequences) -> dict[str, Tensor]:
        """Return the weights of cross-attention (B, H, T, S) of each decoder layer.

        They are named "layer 1" and so on.
        """
        maps: list[Tensor] = []
        self.decode(self.encode(source), target, maps)
        return by_layer(maps)

    def self_attention(self, source: Source, target: Sequences) -> dict[str, dict[str, Tensor]]:
        """Return the encoder's self-attention (B, H, S, S) and the decoder's (B, H, T, T)."""
        encoder_maps: list[Tensor] = []
        decoder_maps: list[Tensor] = []
        self.decode(self.encode(source, encoder_maps), target, self_maps=decoder_maps)
        return {"encoder": by_layer(encoder_maps), "decoder": by_layer(decoder_maps)}
