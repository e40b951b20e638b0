"""ByteNet: a dilated convolutional decoder on top of a dilated convolutional encoder.

Kalchbrenner et al. 2016.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.data.sequences import Sequences, Source
from nmt.models.convolution import Convolution
from nmt.models.dropout import Dropout
from nmt.models.layers import Layers
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

    def __init__(self, width: int, dilation: int, dropout: float, causal: bool):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(n) for n in (2 * width, width, width))
        self.narrow = nn.Linear(2 * width, width)
        self.widen = nn.Linear(width, 2 * width)
        self.convolution = Convolution(width, width, KERNEL, dilation=dilation)
        self.dropout = Dropout(dropout)
        # Positions that the convolution sees besides its own, and how many of these are before it
        self.reach = (KERNEL - 1) * dilation
        self.before = self.reach if causal else self.reach // 2
        for layer in (self.narrow, self.convolution, self.widen):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            assert layer.bias is not None
            nn.init.zeros_(layer.bias)
        # f starts as zero: what a column says of its own word reaches the output, and blocks learn
        # to add to it.
        nn.init.zeros_(self.widen.weight)

    def before_convolution(self, x: Tensor) -> Tensor:
        """Return the input of the dilated convolution: (B, T, 2D) -> (B, T, D)."""
        narrow = self.narrow(F.relu(self.norms[0](x)))
        return F.relu(self.norms[1](narrow))

    def after_convolution(self, x: Tensor, convolved: Tensor) -> Tensor:
        """Return x + f(x) from the dilated convolution's output: (B, T, D) -> (B, T, 2D)."""
        return x + self.dropout(self.widen(F.relu(self.norms[2](convolved))))

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """Transform all positions: (B, T, 2D) -> (B, T, 2D).

        real: (B, T, 1), false where the convolution is to see zeros.
        """
        inputs = self.before_convolution(x)
        if real is not None:
            inputs = inputs * real
        padded = F.pad(inputs, (0, 0, self.before, self.reach - self.before))
        return self.after_convolution(x, self.convolution(padded))

    def step(self, x: Tensor, window: Tensor) -> tuple[Tensor, Tensor]:
        """Transform one position: (R, 1, 2D) -> (R, 1, 2D), and the next window.

        window: the last `reach` inputs of the convolution, (R, reach, D).
        """
        window = torch.cat([window, self.before_convolution(x)], 1)
        return self.after_convolution(x, self.convolution(window)), window[:, 1:]


class ByteNet(Model):
    """Two stacks of convolutions, where column t of the encoder enters the decoder at step t.

    Depth, not attention, widens what is seen of the source. The source unfolds to ceil(a |s|)
    columns (equation 2 with b = 0); a target that goes on beyond them sees no more.

    Source (B, S) -> embeddings (B, S, 2D) -> columns (B, U, 2D). Target (B, T) -> embeddings
    (B, T, 2D) -> decoder states (B, T, 2D), which `output` maps to logits (B, T, V).
    """

    def __init__(self, config: configuration.ByteNet, source_size: int, target_size: int):
        super().__init__()
        width = 2 * config.d_hidden
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        self.encoder = block_stack(config, causal=False)
        self.decoder = block_stack(config, causal=True)
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

    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, 2D)."""
        encoded = self.encode(source)
        length = target.tokens.size(1)
        missing = max(0, length - encoded.size(1))
        columns = F.pad(encoded[:, :length], (0, 0, 0, missing))  # (B, T, 2D)
        x = self.target_embedding(target.tokens) + columns
        for block in self.decoder:
            x = block(x)
        return HiddenStates(self.last_layer(x))

    def start(self, source: Source) -> State:
        """Return the state before the first step.

        Shared are the columns. Each row has the last inputs of each block's convolution, zeros at
        first: (R, reach, D).
        """
        encoded = self.encode(source)
        windows = [
            encoded.new_zeros(len(encoded), block.reach, block.convolution.in_channels)
            for block in self.decoder
        ]
        return State(len(encoded), encoded, windows)

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Decode one position: (R,) -> (R, 1, 2D) -> (R, 2D)."""
        x = self.target_embedding(tokens[:, None])
        if state.length < state.shared.size(1):
            column = state.shared[:, state.length]  # (B, 2D)
            x = x + column.repeat_interleave(state.beam, 0)[:, None]
        for number, block in enumerate(self.decoder):
            x, state.own[number] = block.step(x, state.own[number])
        state.length += 1
        return self.last_layer(x[:, 0])


def block_stack(config: configuration.ByteNet, causal: bool) -> "Layers[Block]":
    """Return the blocks of the encoder, or with `causal` of the decoder."""
    return Layers(
        Block(config.d_hidden, dilation, config.dropout, causal)
        for dilation in DILATIONS * config.sets
    )
