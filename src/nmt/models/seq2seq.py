"""Stacked LSTMs: without attention (Sutskever et al. 2014), or with Luong's (Luong et al. 2015)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt import configuration
from nmt.models.dropout import Dropout
from nmt.models.protocol import PAD, Hidden
from nmt.models.recurrent import backwards, one_step, orthogonal_lstm, run_packed
from nmt.models.recurrent_attention import ALIGNMENTS, Memory, attend, masked_softmax

# B sentences, S source length, T target length, H hidden width, R = B * beam rows


@dataclass
class State:
    memory: Memory
    hidden: Tensor  # (layers, R, H)
    cell: Tensor  # (layers, R, H)
    fed: Tensor  # (R, H): the attentional state of the step before
    beam: int

    def reorder(self, rows: Tensor) -> None:
        self.memory, rows = self.memory.follow(rows, self.beam), rows.flatten()
        self.hidden, self.cell, self.fed = self.hidden[:, rows], self.cell[:, rows], self.fed[rows]


class Seq2Seq(nn.Module):
    """The decoder starts from the encoder's last states; the source may be read backwards.

    With attention the top state h_t, compared with the encoder's, gives a context c_t, and both the
    attentional state tanh(W_c [c_t; h_t]) (Luong's equation 5). With input feeding that is also a
    part of the next step's input (section 3.3).
    """

    def __init__(self, config: configuration.Seq2Seq, source_size: int, target_size: int):
        super().__init__()
        width, hidden = config.d_embedding, config.d_hidden
        self.config = config
        self.source_embedding = nn.Embedding(source_size, width)
        self.target_embedding = nn.Embedding(target_size, width)
        self.dropout = Dropout(config.dropout)
        between = config.dropout if config.layers > 1 else 0.0
        fed = hidden if config.input_feeding else 0
        self.encoder = nn.LSTM(width, hidden, config.layers, batch_first=True, dropout=between)
        self.decoder = nn.LSTM(
            width + fed, hidden, config.layers, batch_first=True, dropout=between
        )
        if config.attention != "none":
            self.alignment = ALIGNMENTS[config.score](hidden, hidden, hidden)
            self.combine = nn.Linear(2 * hidden, hidden, bias=False)
        if config.attention == "local-p":
            self.place = nn.Sequential(
                nn.Linear(hidden, hidden, bias=False),
                nn.Tanh(),
                nn.Linear(hidden, 1, bias=False),
                nn.Sigmoid(),
            )
        self.output = nn.Linear(hidden, target_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -config.init_range, config.init_range)
        if config.init == "orthogonal":
            for lstm in (self.encoder, self.decoder):
                orthogonal_lstm(lstm)

    def encode(self, source: Tensor) -> tuple[Memory, Tensor, Tensor]:
        """(B, S) -> memory in the source's order, last hidden and cell states (layers, B, H)."""
        padding = source == PAD
        lengths = (~padding).sum(1)
        read = backwards(source, lengths) if self.config.reverse_source else source
        states, (hidden, cell) = run_packed(
            self.encoder, self.dropout(self.source_embedding(read)), lengths
        )
        if self.config.attention == "none":
            return Memory(states[:, :0], states[:, :0], padding), hidden, cell
        if self.config.reverse_source:
            states = backwards(states, lengths)
        states = self.dropout(states)
        return Memory(states, self.alignment.key(states), padding), hidden, cell

    def weigh(self, top: Tensor, memory: Memory) -> Tensor:
        """How much each source word matters to the states of the top layer: (B, T, H) -> (B, T,
        S).
        """
        scores = self.alignment.scores(top, memory.keys)
        if self.config.attention == "global":
            return masked_softmax(scores, memory.padding[:, None])
        # Local-p: a window around p_t = S sigmoid(v^T tanh(W h_t)), whose words count by a Gaussian
        # (equations 9, 10).
        exact = torch.promote_types(
            memory.states.dtype, torch.float32
        )  # in bfloat16 places past 128 would be even
        center = (~memory.padding).sum(1)[:, None, None] * self.place(top).to(exact)  # (B, T, 1)
        away = torch.arange(scores.size(-1), device=scores.device) - center
        weights = masked_softmax(
            scores, memory.padding[:, None] | (away.abs() > self.config.window)
        )
        return weights * torch.exp(-2 * (away / self.config.window) ** 2)  # sigma = window / 2

    def attentional(self, top: Tensor, memory: Memory) -> tuple[Tensor, Tensor | None]:
        """(B, T, H) -> (B, T, H) for the output, dropout included, and weights (B, T, S)."""
        if self.config.attention == "none":
            return self.dropout(top), None
        weights = self.weigh(top, memory)
        return self.dropout(
            torch.tanh(self.combine(torch.cat([attend(weights, memory), top], -1)))
        ), weights

    def decode(self, source: Tensor, target_in: Tensor) -> tuple[Tensor, Tensor | None]:
        memory, hidden, cell = self.encode(source)
        embedded = self.dropout(self.target_embedding(target_in))
        if not self.config.input_feeding:
            return self.attentional(self.decoder(embedded, (hidden, cell))[0], memory)
        fed, outputs, maps = torch.zeros_like(hidden[0]), [], []
        for position in range(target_in.size(1)):
            top, hidden, cell = one_step(
                self.decoder, torch.cat([embedded[:, position], fed], -1), hidden, cell
            )
            found, weights = self.attentional(top[:, None], memory)
            fed = found[:, 0]
            outputs.append(fed)
            maps.append(weights[:, 0])
        return torch.stack(outputs, 1), torch.stack(maps, 1)

    def forward(self, source: Tensor, target_in: Tensor) -> Hidden:
        return Hidden(self.decode(source, target_in)[0])

    def start(self, memory: tuple[Memory, Tensor, Tensor], beam: int) -> State:
        hidden, cell = (part.repeat_interleave(beam, 1) for part in memory[1:])
        return State(memory[0], hidden, cell, torch.zeros_like(hidden[0]), beam)

    def step(self, tokens: Tensor, state: State) -> tuple[Tensor, State]:
        x = self.target_embedding(tokens)
        if self.config.input_feeding:
            x = torch.cat([x, state.fed], -1)
        top, state.hidden, state.cell = one_step(self.decoder, x, state.hidden, state.cell)
        found, _ = self.attentional(top.unflatten(0, (-1, state.beam)), state.memory)
        state.fed = found.flatten(0, 1)
        return state.fed, state

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        """Local-p's weights, which sum to less than one, are drawn in proportion."""
        weights = self.decode(source, target_in)[1]
        return (
            {}
            if weights is None
            else {"attention": (weights / weights.sum(-1, keepdim=True))[:, None]}
        )
