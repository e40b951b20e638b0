"""RNNsearch, the first model with attention, and RNNencdec without it (Bahdanau et al. 2015; Cho et
al. 2014).
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt import configuration
from nmt.models.dropout import Dropout
from nmt.models.protocol import PAD, Hidden
from nmt.models.recurrent import (
    context_gates,
    embedding_gates,
    orthogonal_start,
    run_packed,
    state_gates,
)
from nmt.models.recurrent_attention import Additive, Memory, attend, masked_softmax

# B sentences, S source length, T target length, E embedding width, H hidden width, C context width,
# R = B * beam rows


@dataclass
class State:
    memory: Memory
    hidden: Tensor  # (R, H)
    beam: int

    def reorder(self, rows: Tensor) -> None:
        self.memory, rows = self.memory.follow(rows, self.beam), rows.flatten()
        self.hidden = self.hidden[rows]


class RNNSearch(nn.Module):
    """GRU encoder and decoder with a maxout output: the paper's appendix A, with cuDNN's gated
    units (nn.GRU).

    With attention the encoder reads both ways and each step has a context of its own; without, the
    encoder's last state is the context of every step.
    """

    def __init__(self, config: configuration.RNNSearch, source_size: int, target_size: int):
        super().__init__()
        width, hidden, attention = (
            config.d_embedding,
            config.d_hidden,
            config.attention == "additive",
        )
        context = 2 * hidden if attention else hidden
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.GRU(width, hidden, batch_first=True, bidirectional=attention)
        self.initial = nn.Linear(hidden, hidden)
        self.alignment = Additive(hidden, context, hidden) if attention else None
        self.decoder = nn.GRU(width + context, hidden, batch_first=True)
        # Deep output: t_i = maxout(U_o s_{i-1} + V_o E y_{i-1} + C_o c_i)
        self.maxout = nn.Linear(hidden + width + context, 2 * (hidden // 2))
        self.output = nn.Linear(hidden // 2, target_size)
        if config.init_std:
            self.start_narrow(config.init_std)
        else:
            for embedding in (self.source_embedding, self.target_embedding):
                nn.init.normal_(embedding.weight, std=width**-0.5)
        for rnn in (self.encoder, self.decoder):
            orthogonal_start(rnn)

    def start_narrow(self, std: float) -> None:
        """Matrices normal, all else zero (appendix B.1)."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.normal_(parameter, std=std)
            else:
                nn.init.zeros_(parameter)
        if self.alignment is not None:
            nn.init.normal_(self.alignment.query.weight, std=std / 10)
            nn.init.normal_(self.alignment.key.weight, std=std / 10)
            nn.init.zeros_(self.alignment.energy.weight)

    def encode(self, source: Tensor) -> tuple[Memory, Tensor]:
        """(B, S) -> memory, s_0 (B, H). Without attention the memory is a single state, which all
        weight falls on.
        """
        padding = source == PAD
        states, last = run_packed(
            self.encoder, self.dropout(self.source_embedding(source)), (~padding).sum(1)
        )
        first = torch.tanh(
            self.initial(last[-1])
        )  # from the backward GRU's last state, that of the first word
        if self.alignment is None:
            context = self.dropout(last[0])[:, None]
            return Memory(context, context, torch.zeros_like(padding[:, :1])), first
        states = self.dropout(states)
        return Memory(states, self.alignment.key(states), padding), first

    def attend(self, hidden: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """(B, beam, H) -> context (B, beam, C), weights (B, beam, S)"""
        if self.alignment is None:
            return memory.states.expand(-1, hidden.size(1), -1), hidden.new_ones(
                *hidden.shape[:2], 1
            )
        weights = masked_softmax(
            self.alignment.scores(hidden, memory.keys), memory.padding[:, None]
        )
        return attend(weights, memory), weights

    def advance(self, gates: Tensor, context: Tensor, hidden: Tensor) -> Tensor:
        """One GRU step: gates (R, 3H) of the embedding, context (R, C), hidden (R, H) -> hidden (R,
        H).
        """
        in_reset, in_update, in_new = (gates + context_gates(self.decoder, context)).chunk(3, -1)
        own_reset, own_update, own_new = state_gates(self.decoder, hidden).chunk(3, -1)
        reset, update = torch.sigmoid(in_reset + own_reset), torch.sigmoid(in_update + own_update)
        new = torch.tanh(in_new + reset * own_new)
        return new + update * (hidden - new)

    def deep_output(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        """(..., H), (..., E), (..., C) -> (..., H/2)"""
        return (
            self.maxout(torch.cat([hidden, embedded, context], -1)).unflatten(-1, (-1, 2)).amax(-1)
        )

    def decode(self, source: Tensor, target_in: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T) -> read-out (B, T, H/2), attention (B, T, S)"""
        memory, hidden = self.encode(source)
        embedded = self.dropout(self.target_embedding(target_in))
        if self.alignment is None:  # nothing depends on the step before: one fused call
            contexts, maps = self.attend(embedded, memory)
            states, _ = self.decoder(torch.cat([embedded, contexts], -1), hidden[None])
            hiddens = torch.cat([hidden[:, None], states[:, :-1]], 1)
        else:
            gates, steps = embedding_gates(self.decoder, embedded), []
            for position in range(target_in.size(1)):
                context, weights = self.attend(hidden[:, None], memory)
                steps.append((hidden, context[:, 0], weights[:, 0]))
                hidden = self.advance(gates[:, position], context[:, 0], hidden)
            hiddens, contexts, maps = (torch.stack(parts, 1) for parts in zip(*steps, strict=True))
        return self.dropout(self.deep_output(hiddens, embedded, contexts)), maps

    def forward(self, source: Tensor, target_in: Tensor) -> Hidden:
        return Hidden(self.decode(source, target_in)[0])

    def start(self, memory: tuple[Memory, Tensor], beam: int) -> State:
        return State(memory[0], memory[1].repeat_interleave(beam, 0), beam)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        embedded = self.target_embedding(tokens)
        context = self.attend(state.hidden.unflatten(0, (-1, state.beam)), state.memory)[0].flatten(
            0, 1
        )
        read_out = self.deep_output(state.hidden, embedded, context)
        state.hidden = self.advance(embedding_gates(self.decoder, embedded), context, state.hidden)
        return read_out, state

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        return {"attention": self.decode(source, target_in)[1][:, None]} if self.alignment else {}
