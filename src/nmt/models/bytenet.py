"""ByteNet: a dilated convolutional decoder on top of a dilated convolutional encoder (Kalchbrenner
et al. 2016).
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.models.dropout import Dropout
from nmt.models.protocol import PAD, Hidden

# B sentences, S source length, U unfolded length, T target length, D half the width of residual
# sums, R = B * beam rows


class Block(nn.Module):
    """x + f(x); f is three times norm, ReLU and convolution: 1 x 1 to D, 1 x k with gaps, 1 x 1 to
    2D (figure 3).
    """

    def __init__(self, width: int, kernel: int, dilation: int, dropout: float, causal: bool):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(n) for n in (2 * width, width, width))
        self.narrow, self.widen = nn.Linear(2 * width, width), nn.Linear(width, 2 * width)
        self.convolution = nn.Conv1d(width, width, kernel, dilation=dilation)
        self.dropout = Dropout(dropout)
        self.reach = (kernel - 1) * dilation
        self.before = self.reach if causal else self.reach // 2
        for layer in (self.narrow, self.convolution, self.widen):
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)
        # Nothing at first: what a column says of its own word reaches the output, and blocks learn
        # to add to it.
        nn.init.zeros_(self.widen.weight)

    def enter(self, x: Tensor) -> Tensor:
        """(B, T, 2D) -> what the convolution sees, (B, T, D)"""
        return F.relu(self.norms[1](self.narrow(F.relu(self.norms[0](x)))))

    def leave(self, x: Tensor, convolved: Tensor) -> Tensor:
        return x + self.dropout(self.widen(F.relu(self.norms[2](convolved))))

    def forward(self, x: Tensor, real: Tensor | None = None) -> Tensor:
        """(B, T, 2D), (B, T, 1) true where there is something -> (B, T, 2D)"""
        seen = self.enter(x)
        if real is not None:
            seen = seen * real
        padded = F.pad(seen.mT, (self.before, self.reach - self.before))
        return self.leave(x, self.convolution(padded).mT)

    def step(self, x: Tensor, window: Tensor) -> tuple[Tensor, Tensor]:
        """(R, 1, 2D), the last `reach` inputs of the convolution (R, reach, D) -> (R, 1, 2D), the
        next window
        """
        window = torch.cat([window, self.enter(x)], 1)
        return self.leave(x, self.convolution(window.mT).mT), window[:, 1:]


@dataclass
class State:
    memory: Tensor  # (B, U, 2D)
    windows: list[Tensor]  # of each block: (R, reach, D)
    position: int
    beam: int

    def reorder(self, rows: Tensor) -> None:
        sentences, rows = rows[:, 0] // self.beam, rows.flatten()
        self.windows = [window[rows] for window in self.windows]
        if len(sentences) != len(self.memory):
            self.memory = self.memory[sentences]


class ByteNet(nn.Module):
    """Column t of the encoder enters the decoder at step t: depth, not attention, widens what is
    seen of the source.

    The source unfolds to ceil(a |s|) columns (equation 2 with b = 0); a target that goes on beyond
    them sees no more.
    """

    def __init__(self, config: configuration.ByteNet, source_size: int, target_size: int):
        super().__init__()
        width = 2 * config.d_hidden
        self.unfold = config.unfold
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        dilations = config.dilations * config.sets
        self.encoder, self.decoder = (
            nn.ModuleList(
                Block(config.d_hidden, config.kernel, rate, config.dropout, causal)
                for rate in dilations
            )
            for causal in (False, True)
        )
        self.bridge, self.last = nn.Linear(width, width), nn.Linear(width, width)
        # Blocks add to a sum that nothing bounds: a norm at the end of each stack, as those before
        # each layer in it.
        self.encoder_norm, self.decoder_norm, self.last_norm = (
            nn.LayerNorm(width) for _ in range(3)
        )
        self.dropout = Dropout(config.dropout)
        self.output = nn.Linear(width, target_size)

    def encode(self, source: Tensor) -> Tensor:
        """(B, S) -> columns (B, U, 2D), zero beyond each sentence's own."""
        lengths = (source != PAD).sum(1)
        unfolded = (
            (lengths.double() * self.unfold).ceil().long()
        )  # as exact as math.ceil below, or both differ
        longest = math.ceil(source.size(1) * self.unfold)
        here = torch.arange(longest, device=source.device)[None, :, None]
        real = here < unfolded[:, None, None]
        x = F.pad(self.source_embedding(source), (0, 0, 0, longest - source.size(1)))
        x = x * (here < lengths[:, None, None])
        for block in self.encoder:
            x = block(x, real)
        return self.bridge(self.encoder_norm(x)) * real

    def read_out(self, x: Tensor) -> Tensor:
        """One more convolution of width 1 and ReLU before the output's (section 3.4)."""
        return self.dropout(F.relu(self.last_norm(self.last(self.decoder_norm(x)))))

    def forward(self, source: Tensor, target_in: Tensor) -> Hidden:
        memory, length = self.encode(source), target_in.size(1)
        columns = F.pad(memory[:, :length], (0, 0, 0, max(0, length - memory.size(1))))
        x = self.target_embedding(target_in) + columns
        for block in self.decoder:
            x = block(x)
        return Hidden(self.read_out(x))

    def start(self, memory: Tensor, beam: int) -> State:
        rows = len(memory) * beam
        windows = [
            memory.new_zeros(rows, block.reach, block.convolution.in_channels)
            for block in self.decoder
        ]
        return State(memory, windows, 0, beam)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        x = self.target_embedding(tokens[:, None])
        if state.position < state.memory.size(1):
            x = x + state.memory[:, state.position].repeat_interleave(state.beam, 0)[:, None]
        for number, block in enumerate(self.decoder):
            x, state.windows[number] = block.step(x, state.windows[number])
        state.position += 1
        return self.read_out(x[:, 0]), state

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        return {}
