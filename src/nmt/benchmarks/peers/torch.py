"""torch.nn.Transformer between one table, as in torch's own tutorial, which has no search."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmt.benchmarks.peers import LONGEST, Peer, smoothed
from nmt.configuration import Transformer
from nmt.models.protocol import PAD


class Model(nn.Module):
    def __init__(self, config: Transformer, size: int):
        super().__init__()
        self.width, self.dropout = config.d_model, config.dropout
        self.table = nn.Embedding(size, config.d_model)
        sizes = (
            config.d_model,
            config.heads,
            config.layers,
            config.layers,
            config.d_ff,
            config.dropout,
        )
        self.transformer = nn.Transformer(*sizes, batch_first=True)
        self.register_buffer("positions", torch.randn(LONGEST, config.d_model))

    def embed(self, tokens: Tensor) -> Tensor:
        x = self.table(tokens) * self.width**0.5 + self.positions[: tokens.size(1)]
        return F.dropout(x, self.dropout, self.training)

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
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
        return F.linear(states, self.table.weight)


def build(config: Transformer, size: int, smoothing: float) -> Peer:
    model = Model(config, size)
    return Peer(
        model,
        lambda batch: smoothed(model(batch.source, batch.target_in), batch.target_out, smoothing),
        None,
    )
