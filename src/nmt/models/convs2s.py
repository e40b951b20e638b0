"""Convolutional sequence to sequence learning: Gehring et al. 2017."""

import math
from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from nmt import configuration
from nmt.models.dropout import Dropout
from nmt.models.positions import LearnedPositions
from nmt.models.protocol import PAD, Hidden
from nmt.models.recurrent_attention import Memory, attend, masked_softmax

# B sentences, S source length, T target length, E embedding width, C channels, R = B * beam rows

SQRT_HALF = math.sqrt(0.5)  # a sum of two keeps the variance of each (section 3.5)


def linear(inputs: int, outputs: int, dropout: float = 0.0) -> nn.Linear:
    """Weight-normalized; the outputs have the inputs' variance, whose dropout is reckoned in
    (appendix A).
    """
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=math.sqrt((1 - dropout) / inputs))
    nn.init.zeros_(layer.bias)
    return weight_norm(layer)


class GatedConvolution(nn.Module):
    """Dropout, convolution to 2C, gated linear unit A * sigmoid(B) (section 3.2); causal in the
    decoder.
    """

    def __init__(self, inputs: int, channels: int, kernel: int, dropout: float, causal: bool):
        super().__init__()
        convolution = nn.Conv1d(inputs, 2 * channels, kernel)
        # The gate halves a variance twice: 4 puts that right (appendix A.1).
        nn.init.normal_(convolution.weight, std=math.sqrt(4 * (1 - dropout) / (kernel * inputs)))
        nn.init.zeros_(convolution.bias)
        self.convolution, self.dropout = weight_norm(convolution), Dropout(dropout)
        self.before = kernel - 1 if causal else (kernel - 1) // 2
        self.after = kernel - 1 - self.before

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C') -> (B, T, C)"""
        padded = F.pad(self.dropout(x).mT, (self.before, self.after))
        return F.glu(self.convolution(padded), dim=1).mT

    def step(self, window: Tensor) -> Tensor:
        """The last `kernel` inputs (R, kernel, C') -> (R, 1, C)"""
        return F.glu(self.convolution(window.mT), dim=1).mT


class Stack(nn.Module):
    """From E to the channels of each layer in turn; `projections` carry the residual sum where
    channels change.
    """

    def __init__(
        self, config: configuration.ConvS2S, layers: list[tuple[int, int, int]], causal: bool
    ):
        super().__init__()
        plan = [(channels, kernel) for channels, kernel, count in layers for _ in range(count)]
        widths = [plan[0][0], *(channels for channels, _ in plan)]
        self.enter = linear(config.d_embedding, widths[0], config.dropout)
        self.convolutions = nn.ModuleList(
            GatedConvolution(inputs, channels, kernel, config.dropout, causal)
            for inputs, (channels, kernel) in zip(widths, plan, strict=False)
        )
        self.projections = nn.ModuleList(
            nn.Identity() if inputs == channels else linear(inputs, channels)
            for inputs, channels in pairwise(widths)
        )
        self.widths = widths[1:]

    def __len__(self) -> int:
        return len(self.convolutions)


class MultiStepAttention(nn.Module):
    """Of one decoder layer: d = W h + b + g compared with the encoder's z, sums of z + e (equations
    1 and 2).
    """

    def __init__(self, channels: int, width: int):
        super().__init__()
        self.query, self.out = linear(channels, width), linear(width, channels)

    def forward(self, h: Tensor, embedded: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """(B, T, C), target embeddings (B, T, E) -> (B, T, C), weights (B, T, S)"""
        query = (self.query(h) + embedded) * SQRT_HALF
        weights = masked_softmax(query @ memory.keys.mT, memory.padding[:, None])
        # A mean of m vectors has 1/m of their variance: sqrt(m) restores it (section 3.5).
        length = (~memory.padding).sum(1)[:, None, None].to(h.dtype)
        context = attend(weights, memory) * length.sqrt()
        return (h + self.out(context)) * SQRT_HALF, weights


@dataclass
class State:
    memory: Memory
    windows: list[Tensor]  # of each layer the last kernel - 1 inputs: (R, kernel - 1, C')
    position: int
    beam: int

    def reorder(self, rows: Tensor) -> None:
        self.memory, rows = self.memory.follow(rows, self.beam), rows.flatten()
        self.windows = [window[rows] for window in self.windows]


class ConvS2S(nn.Module):
    def __init__(self, config: configuration.ConvS2S, source_size: int, target_size: int):
        super().__init__()
        width = config.d_embedding
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        self.source_positions = LearnedPositions(config, width, 0.1)
        self.target_positions = LearnedPositions(config, width, 0.1)
        for table in (self.source_embedding.weight, self.target_embedding.weight):
            nn.init.normal_(table, std=0.1)
        self.dropout = Dropout(config.dropout)
        self.encoder = Stack(config, config.encoder, causal=False)
        self.decoder = Stack(config, config.decoder, causal=True)
        self.leave_encoder = linear(self.encoder.widths[-1], width)
        self.attentions = nn.ModuleList(
            MultiStepAttention(channels, width) for channels in self.decoder.widths
        )
        self.leave_decoder = linear(self.decoder.widths[-1], config.d_output)
        self.output = linear(config.d_output, target_size, config.dropout)

    def encode(self, source: Tensor) -> Memory:
        """(B, S) -> memory. Padding is zero before every convolution, as what lies beyond a
        sentence's end.
        """
        padding = source == PAD
        real = ~padding[..., None]
        embedded = self.dropout(self.source_positions(self.source_embedding(source)))
        x = self.encoder.enter(embedded)
        for convolution, project in zip(
            self.encoder.convolutions, self.encoder.projections, strict=True
        ):
            x = (convolution(x * real) + project(x)) * SQRT_HALF
        # Every attention adds to the gradient, so its sum is scaled down (section 3.5).
        z = scale_gradient(self.leave_encoder(x), 1 / (2 * len(self.decoder)))
        return Memory((z + embedded) * SQRT_HALF, z, padding)

    def decode(self, memory: Memory, target_in: Tensor) -> tuple[Tensor, list[Tensor]]:
        """(B, T) -> (B, T, d_output), weights (B, T, S) of each layer"""
        embedded = self.dropout(self.target_positions(self.target_embedding(target_in)))
        x, maps = self.decoder.enter(embedded), []
        layers = zip(
            self.decoder.convolutions, self.decoder.projections, self.attentions, strict=True
        )
        for convolution, project, attention in layers:
            attended, weights = attention(convolution(x), embedded, memory)
            x = (attended + project(x)) * SQRT_HALF
            maps.append(weights)
        return self.dropout(self.leave_decoder(x)), maps

    def forward(self, source: Tensor, target_in: Tensor) -> Hidden:
        return Hidden(self.decode(self.encode(source), target_in)[0])

    def start(self, memory: Memory, beam: int) -> State:
        rows = len(memory.padding) * beam
        windows = [
            memory.states.new_zeros(rows, convolution.before, convolution.convolution.in_channels)
            for convolution in self.decoder.convolutions
        ]
        return State(memory, windows, 0, beam)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        embedded = self.target_positions(self.target_embedding(tokens[:, None]), state.position)
        beams = embedded.view(
            len(state.memory.padding), state.beam, -1
        )  # beams attend as queries of one entry
        x = self.decoder.enter(embedded)
        layers = zip(
            self.decoder.convolutions, self.decoder.projections, self.attentions, strict=True
        )
        for number, (convolution, project, attention) in enumerate(layers):
            window = torch.cat([state.windows[number], x], 1)
            state.windows[number] = window[:, 1:]
            found = convolution.step(window)
            attended, _ = attention(found.view(*beams.shape[:2], -1), beams, state.memory)
            x = (attended.view(found.shape) + project(x)) * SQRT_HALF
        state.position += 1
        return self.leave_decoder(x[:, 0]), state

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        maps = self.decode(self.encode(source), target_in)[1]
        return {f"layer {number}": weights[:, None] for number, weights in enumerate(maps, start=1)}


def scale_gradient(x: Tensor, factor: float) -> Tensor:
    return x * factor + x.detach() * (1 - factor)
