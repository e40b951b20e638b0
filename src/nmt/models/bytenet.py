"""ByteNet: a dilated convolutional decoder on top of a dilated convolutional encoder.

Kalchbrenner et al. 2016.
"""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.data.sequences import Sequences, Source
from nmt.models.convolution import Convolution, Window
from nmt.models.dropout import Dropout
from nmt.models.protocol import HiddenStates, Model, State

# B sentences, S source length, U unfolded length, T target length, D half the width of residual
# sums, V vocabulary, R = B * beam rows

KERNEL = 3  # of the convolutions, in positions
DILATIONS = (1, 2, 4, 8, 16)  # of the blocks of a set
UNFOLD = 1.2  # encoder columns for each source token, a in equation 2


class Block(nn.Module):
    """x + f(x), where f is three times norm, ReLU and convolution (figure 3).

    The convolutions are 1 x 1 from 2D to D, 1 x k dilated, and 1 x 1 from D to 2D.
    """

    def __init__(self, width: int, dilation: int, dropout: float):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(n) for n in (2 * width, width, width))
        self.narrow = nn.Linear(2 * width, width)
        self.widen = nn.Linear(width, 2 * width)
        self.convolution = Convolution(width, width, KERNEL, dilation=dilation)
        self.dropout = Dropout(dropout)
        for layer in (self.narrow, self.convolution, self.widen):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
        # f starts as zero: what a column says of its own word reaches the output, and blocks learn
        # to add to it.
        nn.init.zeros_(self.widen.weight)

    def forward(
        self, x: Tensor, real: Tensor | None = None, window: Window | None = None
    ) -> Tensor:
        """Transform positions: (B, T, 2D) -> (B, T, 2D).

        real: (B, T, 1), false where the convolution is to see zeros. window: see Convolution.
        """
        narrow = self.narrow(F.relu(self.norms[0](x)))
        inputs = F.relu(self.norms[1](narrow))  # (B, T, D)
        if real is not None:
            inputs = inputs * real
        convolved = self.convolution(inputs, window)
        return x + self.dropout(self.widen(F.relu(self.norms[2](convolved))))


class ByteNet(Model):
    """Two stacks of convolutions, where column t of the encoder enters the decoder at step t.

    Depth, not attention, widens what is seen of the source. The source unfolds to ceil(a |s|)
    columns (equation 2 with b = 0); a target that goes on beyond them sees no more.

    Source (B, S) -> embeddings (B, S, 2D) -> columns (B, U, 2D). Target (B, T) -> embeddings
    (B, T, 2D) -> decoder states (B, T, 2D), which `output` maps to logits (B, T, V).
    """

    repeatable = True

    def __init__(self, config: configuration.ByteNet, source_size: int, target_size: int):
        super().__init__()
        width = 2 * config.d_hidden
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        self.encoder: Any = block_stack(config)
        self.decoder: Any = block_stack(config)
        self.bridge = nn.Linear(width, width)
        self.last = nn.Linear(width, width)
        # Blocks add to a sum that nothing bounds: there is a norm at the end of each stack, as
        # before each of its layers.
        self.encoder_norm = nn.LayerNorm(width)
        self.decoder_norm = nn.LayerNorm(width)
        self.last_norm = nn.LayerNorm(width)
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(width, target_size)

    def encode(self, source: Source) -> Tensor:
        """Encode the source: (B, S) -> columns (B, U, 2D), zero beyond each sentence's own."""
        tokens = source.tokens
        lengths = (~source.padding).sum(1)
        # As exact as math.ceil below, or the two would differ.
        unfolded = (lengths.double() * UNFOLD).ceil().long()
        longest = math.ceil(tokens.size(1) * UNFOLD)
        column = torch.arange(longest, device=source.device)[None, :, None]
        real = column < unfolded[:, None, None]  # (B, U, 1)
        x = F.pad(self.source_embedding(tokens), (0, 0, 0, longest - tokens.size(1)))
        x = x * (column < lengths[:, None, None])
        for block in self.encoder:
            x = block(x, real)
        return self.bridge(self.encoder_norm(x)) * real

    def last_layer(self, x: Tensor) -> Tensor:
        """Apply one more convolution of width 1 and ReLU before the output's (section 3.4).

        (..., 2D) -> (..., 2D)
        """
        return self.dropout(F.relu(self.last_norm(self.last(self.decoder_norm(x)))))

    def start(self, source: Source) -> State:
        """Return the state before the first step: the columns, and each row's windows."""
        encoded = self.encode(source)
        windows = [block.convolution.window(encoded) for block in self.decoder]
        return State(encoded, encoded, windows)

    def decode(self, tokens: Tensor, state: State) -> Tensor:
        """Run the decoder over T positions behind those of the state: (R, T) -> (R, T, 2D)."""
        steps = state.length + torch.arange(tokens.size(1), device=tokens.device)
        state.length = state.length + tokens.size(1)
        unfolded = state.shared.size(1)
        columns = state.shared.index_select(1, steps.clamp(max=unfolded - 1))
        columns = columns * (steps < unfolded)[:, None]
        x = self.target_embedding(tokens) + columns.repeat_interleave(state.beam, 0)
        for block, window in zip(self.decoder, state.own, strict=True):
            x = block(x, window=window)
        return self.last_layer(x)

    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, 2D)."""
        return HiddenStates(self.decode(target.tokens, self.start(source)))

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Decode one position: (R,) -> (R, 1, 2D) -> (R, 2D)."""
        return self.decode(tokens[:, None], state)[:, 0]


def block_stack(config: configuration.ByteNet) -> nn.ModuleList:
    """Return the blocks of the encoder or of the decoder."""
    return nn.ModuleList(
        Block(config.d_hidden, dilation, config.dropout) for dilation in DILATIONS * config.sets
    )
