"""GNMT, deep residual LSTMs with attention (Wu et al. 2016), and with experts MoE.

MoE (Shazeer et al. 2017, appendix E) is a shallower GNMT with wide cells projected to d_model, a
layer of experts before the last encoder layer and before the last decoder layer, an attention of
its own, whose context only the bottom decoder layer gets, and a residual connection around every
layer. All layers get and give vectors of one width. The paper does not say how the two directions
of the first layer become one such vector: here they are added.
"""

import warnings
from typing import Any

import torch
from torch import Tensor, nn

from nmt import configuration
from nmt.data.sequences import Sequences, Source
from nmt.models.dropout import Dropout
from nmt.models.experts import Experts
from nmt.models.protocol import PAD, HiddenStates, Model, State
from nmt.models.recurrent import LayerState, lstm_step, run, run_packed
from nmt.models.recurrent_attention import AdditiveScore, Memory, TanhProductScore

# B sentences, S source length, T target length, D d_model, H cells (H = D without projection),
# V vocabulary, R = B * beam rows

# oneDNN has none, which concerns no user.
warnings.filterwarnings("ignore", "LSTM with projections")


def lstm(config: configuration.GNMT, width: int, bidirectional: bool = False) -> nn.LSTM:
    """Return one layer from `width` to D, or to 2D in both directions."""
    return nn.LSTM(
        width,
        config.d_cell or config.d_model,
        batch_first=True,
        bidirectional=bidirectional,
        proj_size=config.d_model if config.d_cell else 0,
    )


class Mixture(nn.Module):
    """x + Dropout(sigmoid(Experts(x))) for all tokens but padding."""

    weight = 0.01  # of the load-balancing losses

    def __init__(self, config: configuration.GNMT):
        super().__init__()
        # The configuration gives all three or none.
        assert config.experts
        assert config.experts_used
        assert config.d_expert
        self.experts = Experts(config.d_model, config.d_expert, config.experts, config.experts_used)
        self.dropout = Dropout(config.dropout)

    def forward(self, x: Tensor, real: Tensor) -> tuple[Tensor, Tensor]:
        """Apply the experts: (B, T, D), (B, T) true at tokens -> (B, T, D), and the penalty."""
        mixed, balance = self.experts(x[real])
        added = torch.zeros_like(x).masked_scatter(real[..., None], mixed.sigmoid().to(x.dtype))
        return x + self.dropout(added), self.weight * balance


class GNMT(Model):
    """Stacks of LSTMs whose bottom decoder layer alone attends to the source.

    Its last output is what the context is computed from. The context enters every decoder layer
    (GNMT, section 3) or, with experts, the bottom one alone. With `context: current` the layers
    above get the context of the bottom layer's output of the same step.

    Only the bottom layer needs a loop over time; those above it run over all positions at once. A
    decoder layer starts from the last state of the encoder layer of its number, of which the paper
    says nothing but Google's later code does the same (github.com/tensorflow/nmt,
    `pass_hidden_state`); from zero it learns later where to look. All parameters but the experts'
    are initialized within init_range, as the paper has it, forget gates too.

    Source (B, S) -> embeddings (B, S, D) -> encoder states (B, S, D), of which the first layer's
    are (B, S, 2D) before they enter the second (or, with experts, are added). Target (B, T) ->
    embeddings (B, T, D), with the context (B, T, 2D), -> decoder states (B, T, D), which `output`
    maps to logits (B, T, V).
    """

    def __init__(self, config: configuration.GNMT, source_size: int, target_size: int):
        super().__init__()
        width = config.d_model
        # With experts the input and output of every layer above the bottom one have the width D.
        self.narrow = config.experts is not None
        double = width if self.narrow else 2 * width
        self.current = config.context == "current"
        # GNMT's third layer is the first with a residual connection.
        self.residual_from = 0 if self.narrow else 2
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        self.dropout = Dropout(config.dropout)
        self.encoder: Any = nn.ModuleList(
            lstm(config, double if layer == 1 else width, bidirectional=layer == 0)
            for layer in range(config.layers)
        )
        self.decoder: Any = nn.ModuleList(
            lstm(config, double if layer else 2 * width) for layer in range(config.layers)
        )
        score = TanhProductScore if config.experts else AdditiveScore
        self.alignment = score(width, width)
        self.output = nn.Linear(width, target_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -config.init_range, config.init_range)
        # Experts are initialized in a way of their own.
        self.source_mixture = Mixture(config) if config.experts else None
        self.target_mixture = Mixture(config) if config.experts else None

    def encode(self, source: Source) -> tuple[Memory, list[LayerState], Tensor]:
        """Encode the source: (B, S) -> memory, last states (B, D), (B, H), the experts' penalty."""
        padding = source.padding
        penalty = torch.zeros((), device=source.device)
        x = self.source_embedding(source.tokens)
        last = []
        for number, layer in enumerate(self.encoder):
            if self.source_mixture is not None and number == len(self.encoder) - 1:
                x, penalty = self.source_mixture(x, ~padding)
            states, (hidden, cell) = run_packed(layer, self.dropout(x), source.lengths)
            # With two directions, the backward one, which ends at the first word.
            last.append((hidden[-1], cell[-1]))
            if self.narrow and number == 0:
                states = states.unflatten(-1, (2, -1)).sum(-2)
            x = x + states if number >= self.residual_from else states
        x = self.dropout(x)
        return self.alignment.memory(x, padding), last, penalty

    def advance(self, embedded: Tensor, state: State) -> tuple[Tensor, Tensor, Tensor]:
        """Run the bottom decoder layer over one word behind those of the state, which goes on.

        (R, D) -> its output (R, D), the context from this output (R, D), and weights (R, S).
        """
        layers, context = state.own
        x = torch.cat([embedded, context], -1)
        layers[:1] = lstm_step(self.decoder[0], x, layers[:1], self.dropout)
        bottom, _ = layers[0]
        beams = bottom.unflatten(0, (-1, state.beam))  # (R, D) -> (B, beam, D)
        contexts, weights = self.alignment.attend(beams, state.shared)
        state.own = layers, contexts.flatten(0, 1)
        return bottom, state.own[1], weights.flatten(0, 1)

    def upper_layers(
        self,
        embedded: Tensor,
        bottom: Tensor,
        context: Tensor,
        real: Tensor,
        states: list[LayerState],
    ) -> tuple[Tensor, Tensor]:
        """Run the layers above the bottom one: (B, T, D) -> (B, T, D), and the experts' penalty.

        embedded, bottom, context: (B, T, D). real: (B, T), true at tokens. states: those of each
        layer, (B, D) and (B, H), of which all but the first are replaced by the last ones.
        """
        penalty = torch.zeros((), device=bottom.device)
        x = embedded + bottom if self.narrow else bottom
        for number in range(1, len(self.decoder)):
            if self.target_mixture is not None and number == len(self.decoder) - 1:
                x, penalty = self.target_mixture(x, real)
            layer_input = self.dropout(x)
            if not self.narrow:
                layer_input = torch.cat([layer_input, context], -1)
            first = [part[None] for part in states[number]]
            layer_output, (hidden, cell) = run(self.decoder[number], layer_input, tuple(first))
            states[number] = hidden[0], cell[0]
            x = x + layer_output if number >= self.residual_from else layer_output
        return self.dropout(x), penalty

    def decode(self, source: Source, target: Sequences) -> tuple[Tensor, Tensor, Tensor]:
        """Run teacher forcing: (B, T) -> (B, T, D), the experts' penalty, weights (B, T, S)."""
        memory, layers, source_penalty = self.encode(source)
        state, first_weights = self.first_state(memory, layers)
        context = state.own[1]
        embedded = self.target_embedding(target.tokens)
        words = self.dropout(embedded).unbind(1)
        steps = [self.advance(word, state) for word in words]
        outputs, contexts, maps = zip(*steps, strict=True)
        if not self.current:  # the upper layers get the contexts of the step before
            contexts, maps = (context, *contexts[:-1]), (first_weights, *maps[:-1])
        bottom, upper_context, weights = (
            torch.stack(parts, 1) for parts in (outputs, contexts, maps)
        )
        real = target.tokens != PAD
        top, penalty = self.upper_layers(embedded, bottom, upper_context, real, layers)
        return top, penalty + source_penalty, weights

    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, D), and with experts their penalty."""
        hidden, penalty, _ = self.decode(source, target)
        return HiddenStates(hidden, penalty=penalty if self.narrow else None)

    def first_state(self, memory: Memory, layers: list[LayerState]) -> tuple[State, Tensor]:
        """Return the state before the first step, and the weights (B, S) of its context.

        Shared is the memory. Each row has the states of the layers and the bottom layer's context.
        """
        contexts, weights = self.alignment.attend(layers[0][0][:, None], memory)
        return State(memory.keys, memory, (layers, contexts[:, 0])), weights[:, 0]

    def start(self, source: Source) -> State:
        """Return the state before the first step."""
        memory, layers, _ = self.encode(source)
        return self.first_state(memory, layers)[0]

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Decode one position: (R,) -> (R, D)."""
        layers, context = state.own
        embedded = self.target_embedding(tokens)
        bottom, next_context, _ = self.advance(embedded, state)
        upper_context = next_context if self.current else context
        real = torch.ones_like(tokens, dtype=torch.bool)[:, None]
        top, _ = self.upper_layers(
            embedded[:, None], bottom[:, None], upper_context[:, None], real, layers
        )
        return top[:, 0]

    def attention(self, source: Source, target: Sequences) -> dict[str, Tensor]:
        """Return the weights (B, 1, T, S)."""
        return {"attention": self.decode(source, target)[2][:, None]}
