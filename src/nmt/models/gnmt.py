"""Deep residual LSTMs with attention from the bottom decoder layer: GNMT (Wu et al. 2016), with
experts MoE's.

MoE (Shazeer et al. 2017, appendix E) is a shallower GNMT with wide cells projected to d_model, a
layer of experts before the last encoder layer and before the last decoder layer, an attention of
its own, whose context only the bottom decoder layer gets, and a residual connection around every
layer. All layers get and give vectors of one width, by which the paper leaves open what becomes of
the first layer's two directions: here they are added.
"""

import warnings
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.models.dropout import Dropout
from nmt.models.experts import Experts
from nmt.models.protocol import PAD, Hidden
from nmt.models.recurrent import context_gates, embedding_gates, lstm_cell, run_packed, state_gates
from nmt.models.recurrent_attention import Additive, Memory, Product, attend, masked_softmax

# B sentences, S source length, T target length, D d_model, H cells, R = B * beam rows

warnings.filterwarnings("ignore", "LSTM with projections")  # that oneDNN has none concerns no user

BALANCE = 0.01  # weight of the balance losses where the configuration has none
Last = tuple[Tensor, Tensor]  # a layer's last hidden state (B, D) and cells (B, H)


def lstm(config: configuration.GNMT, width: int, bidirectional: bool = False) -> nn.LSTM:
    """One layer from `width` to D, or to 2D in both directions."""
    projection = config.d_model if config.d_cell else 0
    return nn.LSTM(
        width,
        config.d_cell or config.d_model,
        batch_first=True,
        bidirectional=bidirectional,
        proj_size=projection,
    )


class Mixture(nn.Module):
    """x + Dropout(sigmoid(Experts(x))) over the tokens that are real."""

    def __init__(self, config: configuration.GNMT):
        super().__init__()
        self.experts = Experts(config.d_model, config.d_expert, config.experts, config.experts_used)
        self.dropout, self.weight = Dropout(config.dropout), config.balance or BALANCE

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T, D), (B, T) true at tokens -> the same, and the penalty."""
        mixed, balance = self.experts(x[real])
        above = torch.zeros_like(x).masked_scatter(real[..., None], mixed.sigmoid().to(x.dtype))
        return x + self.dropout(above), self.weight * balance


@dataclass
class State:
    memory: Memory
    hidden: list[Tensor]  # of each layer, (R, D)
    cell: list[Tensor]  # (R, H)
    context: Tensor  # (R, D): what the bottom layer's last output attends to
    beam: int

    def reorder(self, rows: Tensor) -> None:
        self.memory, rows = self.memory.follow(rows, self.beam), rows.flatten()
        self.hidden = [part[rows] for part in self.hidden]
        self.context = self.context[rows]
        self.cell = [part[rows] for part in self.cell]


class GNMT(nn.Module):
    """What the bottom decoder layer last gave asks for the context, which enters every layer (GNMT,
    section 3) or,
    with experts, that one alone. With `context: current` the layers above get the context that the
    bottom layer's output of the same step asks for.

    Only that layer needs a loop over time; those above it run over all positions at once. A decoder
    layer starts from the last state of the encoder layer of its number, of which the paper says
    nothing but Google's later code does the same (github.com/tensorflow/nmt, `pass_hidden_state`);
    from zero it learns later where to look. All but experts starts within init_range, as the paper
    has it, forget gates too.
    """

    def __init__(self, config: configuration.GNMT, source_size: int, target_size: int):
        super().__init__()
        width, self.narrow = (
            config.d_model,
            config.experts is not None,
        )  # narrow: all that layers get and give is D
        double = width if self.narrow else 2 * width
        self.current = config.context == "current"
        self.residual_from = (
            0 if self.narrow else 2
        )  # GNMT's third layer is the first with a residual connection
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.ModuleList(
            lstm(config, double if layer == 1 else width, bidirectional=layer == 0)
            for layer in range(config.layers)
        )
        self.decoder = nn.ModuleList(
            lstm(config, double if layer else 2 * width) for layer in range(config.layers)
        )
        self.alignment = (Product if config.experts else Additive)(width, width, width)
        self.output = nn.Linear(width, target_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -config.init_range, config.init_range)
        self.source_mixture = (
            Mixture(config) if config.experts else None
        )  # start in a way of their own
        self.target_mixture = Mixture(config) if config.experts else None

    def encode(self, source: Tensor) -> tuple[Memory, list[Last], Tensor]:
        """(B, S) -> memory, the layers' last states, and the penalty of its experts."""
        padding, penalty = source == PAD, torch.zeros((), device=source.device)
        lengths = (~padding).sum(1)
        x, last = self.source_embedding(source), []
        for number, layer in enumerate(self.encoder):
            if self.source_mixture is not None and number == len(self.encoder) - 1:
                x, penalty = self.source_mixture(x, ~padding)
            above, (hidden, cell) = run_packed(layer, self.dropout(x), lengths)
            last.append(
                (hidden[-1], cell[-1])
            )  # of two directions the one that ends at the first word
            if self.narrow and number == 0:
                above = above.unflatten(-1, (2, -1)).sum(-2)
            x = x + above if number >= self.residual_from else above
        x = self.dropout(x)
        return Memory(x, self.alignment.key(x), padding), last, penalty

    def context(self, below: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """The bottom layer's last output (B, beam, D) -> context (B, beam, D), weights (B, beam,
        S)
        """
        weights = masked_softmax(self.alignment.scores(below, memory.keys), memory.padding[:, None])
        return attend(weights, memory), weights

    def bottom(
        self, gates: Tensor, context: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor]:
        """A step of the bottom layer: gates (R, 4H) of the embedding, context (R, D) -> hidden (R,
        D), cell (R, H).
        """
        layer = self.decoder[0]
        hidden, cell = lstm_cell(
            gates + context_gates(layer, context) + state_gates(layer, hidden), cell
        )
        return (F.linear(hidden, layer.weight_hr_l0) if layer.proj_size else hidden), cell

    def above(
        self, embedded: Tensor, bottom: Tensor, context: Tensor, real: Tensor, states: list
    ) -> tuple[Tensor, Tensor]:
        """The layers above the bottom one, from `states` which they replace: (B, T, D) -> (B, T,
        D), penalty.
        """
        penalty = torch.zeros((), device=bottom.device)
        x = embedded + bottom if self.narrow else bottom
        for number, layer in enumerate(list(self.decoder)[1:], start=1):
            if self.target_mixture is not None and number == len(self.decoder) - 1:
                x, penalty = self.target_mixture(x, real)
            below = self.dropout(x)
            found, states[number] = layer(
                below if self.narrow else torch.cat([below, context], -1), states[number]
            )
            x = x + found if number >= self.residual_from else found
        return self.dropout(x), penalty

    def decode(
        self, memory: Memory, first: list[Last], target_in: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """(B, T) -> (B, T, D), penalty, weights (B, T, S)"""
        embedded, length = self.target_embedding(target_in), target_in.size(1)
        gates = embedding_gates(self.decoder[0], self.dropout(embedded))
        hidden, cell = first[0]
        outputs, attended = [], [self.context(hidden[:, None], memory)]
        for position in range(length):
            hidden, cell = self.bottom(gates[:, position], attended[-1][0][:, 0], hidden, cell)
            outputs.append(hidden)
            if self.current or position < length - 1:
                attended.append(self.context(hidden[:, None], memory))
        bottom = torch.stack(outputs, 1)
        contexts, maps = (torch.cat(parts, 1) for parts in zip(*attended[-length:], strict=True))
        states = [(h[None], c[None]) for h, c in first]
        hidden, penalty = self.above(embedded, bottom, contexts, target_in != PAD, states)
        return hidden, penalty, maps

    def forward(self, source: Tensor, target_in: Tensor) -> Hidden:
        memory, first, source_penalty = self.encode(source)
        hidden, penalty, _ = self.decode(memory, first, target_in)
        return Hidden(
            hidden, penalty=penalty + source_penalty if self.target_mixture is not None else None
        )

    def start(self, memory: tuple[Memory, list[Last], Tensor], beam: int) -> State:
        hidden, cell = (
            [part.repeat_interleave(beam, 0) for part in parts]
            for parts in zip(*memory[1], strict=True)
        )
        context = self.context(hidden[0].unflatten(0, (-1, beam)), memory[0])[0].flatten(0, 1)
        return State(memory[0], hidden, cell, context, beam)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        embedded = self.target_embedding(tokens)
        gates = embedding_gates(self.decoder[0], embedded)
        state.hidden[0], state.cell[0] = self.bottom(
            gates, state.context, state.hidden[0], state.cell[0]
        )
        asked = self.context(state.hidden[0].unflatten(0, (-1, state.beam)), state.memory)[
            0
        ].flatten(0, 1)
        context, state.context = (asked if self.current else state.context), asked
        states = [(h[None], c[None]) for h, c in zip(state.hidden, state.cell, strict=True)]
        real = torch.ones_like(tokens, dtype=torch.bool)[:, None]
        x, _ = self.above(
            embedded[:, None], state.hidden[0][:, None], context[:, None], real, states
        )
        state.hidden, state.cell = (
            [part[0] for part in parts] for parts in zip(*states, strict=True)
        )
        return x[:, 0], state

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        memory, first, _ = self.encode(source)
        return {"attention": self.decode(memory, first, target_in)[2][:, None]}
