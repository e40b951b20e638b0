"""RNNsearch, the first model with attention, and RNNencdec without it.

Bahdanau et al. 2015; Cho et al. 2014.
"""

import torch
from torch import Tensor, nn

from nmt import configuration
from nmt.data.sequences import Sequences, Source
from nmt.models.dropout import Dropout
from nmt.models.protocol import HiddenStates, Model, State
from nmt.models.recurrent import init_orthogonal, run, run_packed
from nmt.models.recurrent_attention import AdditiveScore, Memory, ProjectedScore, ScoreFunction

# B sentences, S source length, T target length, E embedding width, H hidden width, C context width,
# L layers, V vocabulary, R = B * beam rows

SCORES: dict[str, type[ScoreFunction]] = {"additive": AdditiveScore, "scaled-dot": ProjectedScore}


class RNNSearch(Model):
    """A GRU encoder and decoder with a maxout output: Bahdanau et al. 2015, appendix A.

    Or stacks of GRUs whose top state is mapped to logits (`readout: state`), so that H is the width
    of what `output` sees, wherever H/2 stands below.

    The gated units are cuDNN's (nn.GRU). With attention the encoder reads both ways and each step
    has a context of its own; without, the encoder's last state is the context of every step.

    Source (B, S) -> embeddings (B, S, E) -> encoder states (B, S, C) with C = 2H, or C = H without
    attention. Target (B, T) -> embeddings (B, T, E) -> decoder states (B, T, H) -> maxout
    (B, T, H/2), which `output` maps to logits (B, T, V).
    """

    def __init__(self, config: configuration.RNNSearch, source_size: int, target_size: int):
        super().__init__()
        width = config.d_embedding
        hidden = config.d_hidden
        self.reads_maxout = config.readout == "maxout"
        both_ways = config.attention != "none" or not self.reads_maxout
        encoded = 2 * hidden if both_ways else hidden
        context = hidden if config.attention == "scaled-dot" else encoded
        layers = {"num_layers": config.layers, "batch_first": True}
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.GRU(width, hidden, bidirectional=both_ways, **layers)
        self.initial = nn.Linear(hidden if self.reads_maxout else encoded, hidden)
        self.alignment = (
            None if config.attention == "none" else SCORES[config.attention](hidden, encoded)
        )
        self.decoder = nn.GRU(width + context, hidden, **layers)
        if self.reads_maxout:
            # Deep output: t_i = maxout(U_o s_{i-1} + V_o E y_{i-1} + C_o c_i)
            self.maxout = nn.Linear(hidden + width + context, 2 * (hidden // 2))
        self.output = nn.Linear(hidden // 2 if self.reads_maxout else hidden, target_size)
        if config.init_std:
            self.init_normal(config.init_std)
        else:
            for embedding in (self.source_embedding, self.target_embedding):
                nn.init.normal_(embedding.weight, std=width**-0.5)
        for rnn in (self.encoder, self.decoder):
            init_orthogonal(rnn)

    def init_normal(self, std: float) -> None:
        """Initialize matrices normal with deviation `std`, all else zero (appendix B.1)."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=std)
            else:
                nn.init.zeros_(parameter)
        if isinstance(self.alignment, AdditiveScore):
            nn.init.normal_(self.alignment.query.weight, std=std / 10)
            nn.init.normal_(self.alignment.key.weight, std=std / 10)
            nn.init.zeros_(self.alignment.energy.weight)

    def encode(self, source: Source) -> tuple[Memory, tuple[Tensor, ...]]:
        """Encode the source: (B, S) -> memory, and each layer's first hidden state s_0 (B, H).

        Without attention the memory is a single state, which gets all weight.
        """
        padding = source.padding
        embedded = self.dropout(self.source_embedding(source.tokens))
        encoder_states, last = run_packed(self.encoder, embedded, source.lengths)
        last = last.unflatten(0, (self.encoder.num_layers, -1)).transpose(1, 2)  # (L, B, 1 or 2, H)
        if self.reads_maxout:
            # The last state of the backward GRU is that of the first word.
            first = torch.tanh(self.initial(last[:, :, -1]))
        else:
            first = self.initial(last.flatten(2))
        if self.alignment is None:
            context = self.dropout(last[-1].flatten(1))[:, None]
            return Memory(context, context, torch.zeros_like(padding[:, :1])), first.unbind()
        encoder_states = self.dropout(encoder_states)
        return self.alignment.memory(encoder_states, padding), first.unbind()

    def attend(self, hidden: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Return contexts (B, beam, C) and weights (B, beam, S) of decoder states (B, beam, H)."""
        if self.alignment is None:
            contexts = memory.encoder_states.expand(-1, hidden.size(1), -1)
            return contexts, hidden.new_ones(*hidden.shape[:2], 1)
        return self.alignment.attend(hidden, memory)

    def next_hidden(
        self, embedded: Tensor, context: Tensor, hidden: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...]:
        """Return s_i = f(s_{i-1}, y_{i-1}, c_i) of each layer: (R, E), (R, C), (R, H) -> (R, H)."""
        below = torch.cat([embedded, context], -1)
        states = []
        for state, weights in zip(hidden, self.decoder.all_weights, strict=True):
            below = torch.gru_cell(below, state, *weights)
            states.append(below)
        return tuple(states)

    def deep_output(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        """Return the maxout layer's output: (..., H), (..., E), (..., C) -> (..., H/2).

        hidden: the state before the word; or the one behind it, which is returned as it is.
        """
        if not self.reads_maxout:
            return hidden
        both = self.maxout(torch.cat([hidden, embedded, context], -1))
        return both.unflatten(-1, (-1, 2)).amax(-1)

    def advance(self, embedded: Tensor, state: State) -> tuple[Tensor, Tensor, Tensor]:
        """Run the decoder over one word behind those of the state, which goes on: (R, E).

        Returns the hidden state that `deep_output` sees (R, H), the context (R, C), and weights
        (R, S).
        """
        before = state.own
        beams = before[-1].unflatten(0, (-1, state.beam))  # (R, H) -> (B, beam, H)
        contexts, weights = self.attend(beams, state.shared)
        context = contexts.flatten(0, 1)
        state.own = self.next_hidden(embedded, context, before)
        hidden = before if self.reads_maxout else state.own
        return hidden[-1], context, weights.flatten(0, 1)

    def decode(self, source: Source, target: Sequences) -> tuple[Tensor, Tensor]:
        """Run teacher forcing: (B, S), (B, T) -> maxout (B, T, H/2), attention (B, T, S)."""
        state = self.start(source)
        embedded = self.dropout(self.target_embedding(target.tokens))
        if self.alignment is None:
            # No context depends on the step before: one fused call computes all states.
            contexts, maps = self.attend(embedded, state.shared)
            first = torch.stack(state.own)
            hiddens, _ = run(self.decoder, torch.cat([embedded, contexts], -1), first)
            if self.reads_maxout:
                hiddens = torch.cat([first[-1][:, None], hiddens[:, :-1]], 1)
        else:
            steps = [self.advance(word, state) for word in embedded.unbind(1)]
            hiddens, contexts, maps = (torch.stack(parts, 1) for parts in zip(*steps, strict=True))
        return self.dropout(self.deep_output(hiddens, embedded, contexts)), maps

    def forward(self, source: Source, target: Sequences) -> HiddenStates:
        """Run teacher forcing: (B, S), (B, T) -> (B, T, H/2)."""
        return HiddenStates(self.decode(source, target)[0])

    def start(self, source: Source) -> State:
        """Return the state before the first step: the memory, and each row's hidden state."""
        return State(source.tokens, *self.encode(source))

    def step(self, tokens: Tensor, state: State) -> Tensor:
        """Decode one position: (R,) -> (R, H/2)."""
        embedded = self.target_embedding(tokens)
        hidden, context, _ = self.advance(embedded, state)
        return self.deep_output(hidden, embedded, context)

    def attention(self, source: Source, target: Sequences) -> dict[str, Tensor]:
        """Return the weights (B, 1, T, S), or {} without attention."""
        if self.alignment is None:
            return {}
        return {"attention": self.decode(source, target)[1][:, None]}
