"""Convolutional sequence to sequence learning: Gehring et al. 2017."""

import math
from itertools import pairwise
from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from nmt import configuration
from nmt.data.sequences import Sequences, Source
from nmt.models.attention import by_layer
from nmt.models.convolution import Convolution, Window
from nmt.models.dropout import Dropout
from nmt.models.positions import LearnedPositions
from nmt.models.protocol import HiddenStates, Model, State
from nmt.models.recurrent_attention import Memory, context_vectors, masked_softmax

# B sentences, S source length, T target length, E embedding width, C channels, C' channels of the
# layer before, V vocabulary, R = B * beam rows

SQRT_HALF = math.sqrt(0.5)  # a sum of two keeps the variance of each (section 3.4)


def linear(inputs: int, outputs: int, dropout: float = 0.0) -> nn.Linear:
    """Return a weight-normalized linear layer whose outputs have the variance of its inputs.

    dropout: that of the inputs, for which the initial weights make up (appendix A).
    """
    layer = nn.Linear(inputs, outputs)
    nn.init.normal_(layer.weight, std=math.sqrt((1 - dropout) / inputs))
    nn.init.zeros_(layer.bias)
    return weight_norm(layer)


class GatedConvolution(nn.Module):
    """Dropout, convolution to 2C, and the gated linear unit A * sigmoid(B) (section 3.2)."""

    def __init__(self, inputs: int, channels: int, kernel: int, dropout: float):
        super().__init__()
        convolution = Convolution(inputs, 2 * channels, kernel)
        # The gate halves a variance twice: the factor 4 makes up for it (appendix A.1).
        nn.init.normal_(convolution.weight, std=math.sqrt(4 * (1 - dropout) / (kernel * inputs)))
        assert convolution.bias is not None
        nn.init.zeros_(convolution.bias)
        self.convolution = weight_norm(convolution)
        self.dropout = Dropout(dropout)

    def forward(self, x: Tensor, window: Window | None = None) -> Tensor:
        """Convolve: (B, T, C') -> (B, T, 2C) -> (B, T, C). window: see Convolution."""
        return F.glu(self.convolution(self.dropout(x), window))


class Stack(nn.Module):
    """The convolutions of the encoder or of the decoder, from E to the channels of each in turn.

    `projections` map the residual sum where the channels change.
    """

    def __init__(self, config: configuration.ConvS2S, layers: list[tuple[int, int, int]]):
        super().__init__()
        channels = [width for width, _, count in layers for _ in range(count)]
        kernels = [kernel for _, kernel, count in layers for _ in range(count)]
        self.widths = channels
        in_and_out = list(pairwise([channels[0], *channels]))
        self.enter = linear(config.d_embedding, channels[0], config.dropout)
        self.convolutions: Any = nn.ModuleList(
            GatedConvolution(inputs, outputs, kernel, config.dropout)
            for (inputs, outputs), kernel in zip(in_and_out, kernels, strict=True)
        )
        self.projections = nn.ModuleList(
            nn.Identity() if inputs == outputs else linear(inputs, outputs)
            for inputs, outputs in in_and_out
        )

    def __len__(self) -> int:
        return len(self.convolutions)


class MultiStepAttention(nn.Module):
    """The attention of one decoder layer (equations 1 and 2).

    d = sqrt(1/2) (W h + b + g) is compared with the encoder's z; the context is a sum of
    sqrt(1/2) (z + e), and its sum with h is scaled too. The paper's equations have no such factors.
    """

    def __init__(self, channels: int, width: int):
        super().__init__()
        self.query = linear(channels, width)
        self.out = linear(width, channels)

    def forward(self, h: Tensor, embedded: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Add the context to h: (B, T, C) -> (B, T, C), weights (B, T, S).

        embedded: target embeddings, (B, T, E).
        """
        query = (self.query(h) + embedded) * SQRT_HALF  # (B, T, E)
        weights = masked_softmax(query @ memory.keys.mT, memory.padding[:, None])
        # A mean of m vectors has 1/m of their variance: sqrt(m) restores it (section 3.4).
        length = (~memory.padding).sum(1)[:, None, None].to(h.dtype)
        context = context_vectors(weights, memory) * length.sqrt()  # (B, T, E)
        return (h + self.out(context)) * SQRT_HALF, weights


class ConvS2S(Model):
    """A convolutional encoder and decoder with attention in every decoder layer (section 3).

    Source (B, S) -> embeddings (B, S, E) -> layers (B, S, C) -> z (B, S, E). Target (B, T) ->
    embeddings (B, T, E) -> layers (B, T, C) -> (B, T, d_output), which `output` maps to logits
    (B, T, V).
    """

    repeatable = True

    def __init__(self, config: configuration.ConvS2S, source_size: int, target_size: int):
        super().__init__()
        width = config.d_embedding
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        self.source_positions = LearnedPositions(width, 0.1)
        self.target_positions = LearnedPositions(width, 0.1)
        for table in (self.source_embedding.weight, self.target_embedding.weight):
            nn.init.normal_(table, std=0.1)
        self.dropout = Dropout(config.dropout)
        self.encoder = Stack(config, config.encoder)
        self.decoder = Stack(config, config.decoder)
        self.leave_encoder = linear(self.encoder.widths[-1], width)
        self.attentions = nn.ModuleList(
            MultiStepAttention(channels, width) for channels in self.decoder.widths
        )
        self.leave_decoder = linear(self.decoder.widths[-1], config.d_output)
        self.output = linear(config.d_output, target_size, config.dropout)

    def embed(self, rows: Sequences, embedding: nn.Embedding, positions: nn.Module) -> Tensor:
        """Embed tokens and their positions: (B, T) -> (B, T, E)."""
        return self.dropout(positions(embedding(rows.tokens), rows.positions, rows.end))

    def encode(self, source: Source) -> Memory:
        """Encode the source: (B, S) -> memory of keys z and values z + e, (B, S, E) both.

        Padding is zero before every convolution, as is what lies beyond a sentence's end.
        """
        padding = source.padding
        real = ~padding[..., None]
        embedded = self.embed(source, self.source_embedding, self.source_positions)
        x = self.encoder.enter(embedded)
        layers = zip(self.encoder.convolutions, self.encoder.projections, strict=True)
        for convolution, project in layers:
            x = (convolution(x * real) + project(x)) * SQRT_HALF
        # Every attention adds to the gradient, so the sum of these is scaled down (section 3.4, by
        # the number of attentions; here by twice that number).
        z = scale_gradient(self.leave_encoder(x), 1 / (2 * len(self.decoder)))
        return Memory((z + embedded) * SQRT_HALF, z, padding)

    def start(self, source: Source) -> State:
        """Return the state before the first step: the memory, and each row's windows."""
        memory = self.encode(source)
        windows = [layer.convolution.window(memory.keys) for layer in self.decoder.convolutions]
        return State(memory.keys, memory, windows)

    def decode(self, target: Sequences, state: State) -> tuple[Tensor, list[Tensor]]:
        """Run the decoder over T positions behind those of the state, which goes on.

        (R, T) -> (R, T, d_output), weights (B, beam * T, S) of each layer.
        """
        embedded = self.embed(target, self.target_embedding, self.target_positions)
        # The beams of a sentence are the queries of one batch entry: (R, T, E) -> (B, beam * T, E).
        beams = embedded.view(state.sentences, -1, embedded.size(-1))
        x = self.decoder.enter(embedded)
        maps = []
        stack = (self.decoder.convolutions, self.decoder.projections, self.attentions, state.own)
        for convolution, project, attention, window in zip(*stack, strict=True):
            convolved = convolution(x, window)  # (R, T, C)
            queries = convolved.view(*beams.shape[:2], -1)
            attended, weights = attention(queries, beams, state.shared)
            x = (attended.view(convolved.shape) + project(x)) * SQRT_HALF
            maps.append(weights)
        state.length = state.length + target.tokens.size(1)
        return self.dropout(self.leave_decoder(x)), maps

    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, d_output)."""
        return HiddenStates(self.decode(target, self.start(source))[0])

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Decode one position: (R,) -> (R, 1, d_output) -> (R, d_output)."""
        last = Sequences(
            tokens[:, None], state.length[None], None, len(self.target_positions.table)
        )
        return self.decode(last, state)[0][:, 0]

    def attention(self, source: Source, target: Sequences) -> dict[str, Tensor]:
        """Return the weights (B, 1, T, S) of each decoder layer: "layer 1" and so on."""
        maps = self.decode(target, self.start(source))[1]
        return by_layer([weights[:, None] for weights in maps])


def scale_gradient(x: Tensor, factor: float) -> Tensor:
    """Return x, up to rounding, but multiply its gradient by the factor."""
    return x * factor + x.detach() * (1 - factor)
