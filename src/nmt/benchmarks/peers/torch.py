"""torch.nn.Transformer with one table for all embeddings, as in torch's tutorial; no search."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmt.benchmarks.peers import MAX_TOKENS, Peer, smoothed_cross_entropy
from nmt.configuration import Transformer
from nmt.data.batch import Batch
from nmt.models.protocol import PAD


class Model(nn.Module):
    """torch.nn.Transformer between embeddings and logits of one table."""

    positions: Tensor

    def __init__(self, config: Transformer, vocabulary_size: int):
        super().__init__()
        self.d_model = config.d_model
        self.dropout = config.dropout
        self.embedding = nn.Embedding(vocabulary_size, config.d_model)
        self.transformer = nn.Transformer(
            d_model=config.d_model,
            nhead=config.heads,
            num_encoder_layers=config.layers,
            num_decoder_layers=config.layers,
            dim_feedforward=config.d_ff,
            dropout=config.dropout,
            batch_first=True,
        )
        self.register_buffer("positions", torch.randn(MAX_TOKENS, config.d_model))

    def embed(self, tokens: Tensor) -> Tensor:
        """Return embeddings plus positions: (B, T) -> (B, T, D)."""
        scaled = self.embedding(tokens) * self.d_model**0.5
        x = scaled + self.positions[: tokens.size(1)]
        return F.dropout(x, self.dropout, self.training)

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        """Return logits: (B, S), (B, T) -> (B, T, V)."""
        causal = nn.Transformer.generate_square_subsequent_mask(target_in.size(1))
        padding = source == PAD
        states = self.transformer(
            self.embed(source),
            self.embed(target_in),
            tgt_mask=causal,
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return F.linear(states, self.embedding.weight)


def build(config: Transformer, vocabulary_size: int, smoothing: float) -> Peer:
    """Return torch's Transformer with random weights."""
    model = Model(config, vocabulary_size)

    def loss(batch: Batch) -> Tensor:
        logits = model(batch.source.tokens, batch.target_in)
        return smoothed_cross_entropy(logits, batch.target_out, smoothing)

    return Peer(model, loss, None)
