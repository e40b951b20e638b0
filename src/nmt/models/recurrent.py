"""The recurrent rivals: RNNsearch (Bahdanau et al. 2015) and the LSTM without attention (Sutskever et al. 2014)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from nmt import configuration
from nmt.models.dropout import Dropout
from nmt.models.protocol import PAD

# B sentences, S source length, T target length, E embedding width, H hidden width, R = B * beam rows


def run_packed(rnn: nn.RNNBase, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor | tuple[Tensor, Tensor]]:
    """Runs an RNN over (B, S, E) so that padding changes nothing; returns states (B, S, ...) and the last ones."""
    packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
    states, last = rnn(packed)
    return pad_packed_sequence(states, batch_first=True, total_length=embedded.size(1))[0], last


def start_from_paper(rnn: nn.RNNBase) -> None:
    """Recurrent matrices orthogonal gate by gate, biases zero (Bahdanau et al. 2015, appendix B.1)."""
    for name, parameter in rnn.named_parameters():
        if "weight_hh" in name:
            for gate in parameter.split(rnn.hidden_size):
                nn.init.orthogonal_(gate)
        elif "bias" in name:
            nn.init.zeros_(parameter)


@dataclass
class Memory:
    states: Tensor  # (B, S, 2H)
    keys: Tensor  # (B, S, H): U_a h, computed once a sentence
    padding: Tensor  # (B, S), true at padding
    first: Tensor  # (B, H): s_0


@dataclass
class RNNSearchState:
    memory: Memory
    hidden: Tensor  # (R, H)
    beam: int

    def reorder(self, rows: Tensor) -> None:
        sentences = rows[:, 0] // self.beam
        self.hidden = self.hidden[rows.flatten()]
        if len(sentences) != len(self.memory.padding):
            memory = self.memory
            self.memory = Memory(
                memory.states[sentences], memory.keys[sentences], memory.padding[sentences], memory.first[sentences]
            )


class RNNSearch(nn.Module):
    """Bidirectional GRU encoder, additive attention, GRU decoder, maxout output: the paper's appendix A."""

    def __init__(self, config: configuration.RNNSearch, vocabulary_size: int):
        super().__init__()
        width, hidden = config.d_embedding, config.d_hidden
        self.source_embedding = nn.Embedding(vocabulary_size, width)
        self.target_embedding = nn.Embedding(vocabulary_size, width)
        self.dropout = Dropout(config.dropout)
        self.encoder = nn.GRU(width, hidden, batch_first=True, bidirectional=True)
        self.initial = nn.Linear(hidden, hidden)
        # Alignment: e_ij = v_a^T tanh(W_a s_{i-1} + U_a h_j)
        self.align_query = nn.Linear(hidden, hidden, bias=False)
        self.align_key = nn.Linear(2 * hidden, hidden)
        self.align_score = nn.Linear(hidden, 1, bias=False)
        # The GRU's input matrix is split in two, so that the embeddings' half leaves the time loop.
        self.input_gates = nn.Linear(width, 3 * hidden)
        self.context_gates = nn.Linear(2 * hidden, 3 * hidden, bias=False)
        self.hidden_gates = nn.Linear(hidden, 3 * hidden)
        # Deep output: t_i = maxout(U_o s_{i-1} + V_o E y_{i-1} + C_o c_i)
        self.maxout = nn.Linear(hidden + width + 2 * hidden, 2 * (hidden // 2))
        self.output = nn.Linear(hidden // 2, vocabulary_size)
        start_from_paper(self.encoder)
        for embedding in (self.source_embedding, self.target_embedding):
            nn.init.normal_(embedding.weight, std=width**-0.5)
        for gate in self.hidden_gates.weight.split(hidden):
            nn.init.orthogonal_(gate)
        nn.init.zeros_(self.hidden_gates.bias)

    def encode(self, source: Tensor) -> Memory:
        padding = source == PAD
        states, last = run_packed(self.encoder, self.dropout(self.source_embedding(source)), (~padding).sum(1))
        first = torch.tanh(self.initial(last[1]))  # from the backward GRU's last state, that of the first word
        states = self.dropout(states)
        return Memory(states, self.align_key(states), padding, first)

    def attend(self, hidden: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """(B, beam, H) -> context (B, beam, 2H), weights (B, beam, S)"""
        energy = torch.tanh(self.align_query(hidden)[:, :, None] + memory.keys[:, None])  # (B, beam, S, H)
        scores = self.align_score(energy)[..., 0].float().masked_fill(memory.padding[:, None], -torch.inf)
        weights = scores.softmax(-1)
        return weights.to(memory.states.dtype) @ memory.states, weights

    def advance(self, gates: Tensor, context: Tensor, hidden: Tensor) -> Tensor:
        """One GRU step: input gates (R, 3H), context (R, 2H), hidden (R, H) -> hidden (R, H)."""
        input_reset, input_update, input_new = (gates + self.context_gates(context)).chunk(3, -1)
        hidden_reset, hidden_update, hidden_new = self.hidden_gates(hidden).chunk(3, -1)
        reset, update = torch.sigmoid(input_reset + hidden_reset), torch.sigmoid(input_update + hidden_update)
        new = torch.tanh(input_new + reset * hidden_new)
        return new + update * (hidden - new)

    def deep_output(self, hidden: Tensor, embedded: Tensor, context: Tensor) -> Tensor:
        """(..., H), (..., E), (..., 2H) -> (..., H/2)"""
        return self.maxout(torch.cat([hidden, embedded, context], -1)).unflatten(-1, (-1, 2)).amax(-1)

    def decode(self, memory: Memory, target_in: Tensor) -> tuple[Tensor, Tensor]:
        """(B, T) -> hidden (B, T, H/2), attention (B, T, S)"""
        embedded = self.dropout(self.target_embedding(target_in))
        gates = self.input_gates(embedded)
        hidden, hiddens, contexts, maps = memory.first, [], [], []
        for position in range(target_in.size(1)):
            context, weights = self.attend(hidden[:, None], memory)
            hiddens.append(hidden)
            contexts.append(context[:, 0])
            maps.append(weights[:, 0])
            hidden = self.advance(gates[:, position], context[:, 0], hidden)
        read_out = self.deep_output(torch.stack(hiddens, 1), embedded, torch.stack(contexts, 1))
        return self.dropout(read_out), torch.stack(maps, 1)

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        return self.decode(self.encode(source), target_in)[0]

    def start(self, memory: Memory, beam: int) -> RNNSearchState:
        return RNNSearchState(memory, memory.first.repeat_interleave(beam, 0), beam)

    def step(self, tokens: Tensor, state: RNNSearchState) -> tuple[Tensor, RNNSearchState]:
        embedded = self.target_embedding(tokens)
        context = self.attend(state.hidden.view(-1, state.beam, state.hidden.size(-1)), state.memory)[0].flatten(0, 1)
        read_out = self.deep_output(state.hidden, embedded, context)
        state.hidden = self.advance(self.input_gates(embedded), context, state.hidden)
        return self.output(read_out).float().log_softmax(-1), state

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        return {"attention": self.decode(self.encode(source), target_in)[1][:, None]}


@dataclass
class Seq2SeqState:
    hidden: Tensor  # (layers, R, H)
    cell: Tensor  # (layers, R, H)

    def reorder(self, rows: Tensor) -> None:
        self.hidden, self.cell = self.hidden[:, rows.flatten()], self.cell[:, rows.flatten()]


class Seq2Seq(nn.Module):
    """Stacked LSTMs; all the decoder has of the source is the encoder's last state. The source is read backwards."""

    def __init__(self, config: configuration.Seq2Seq, vocabulary_size: int):
        super().__init__()
        width, hidden = config.d_embedding, config.d_hidden
        self.source_embedding = nn.Embedding(vocabulary_size, width)
        self.target_embedding = nn.Embedding(vocabulary_size, width)
        self.dropout = Dropout(config.dropout)
        between = config.dropout if config.layers > 1 else 0.0
        self.encoder = nn.LSTM(width, hidden, config.layers, batch_first=True, dropout=between)
        self.decoder = nn.LSTM(width, hidden, config.layers, batch_first=True, dropout=between)
        self.output = nn.Linear(hidden, vocabulary_size)
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.08, 0.08)  # Sutskever et al. 2014, section 3.4

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """(B, S) -> last hidden and cell states, (layers, B, H) each."""
        lengths = (source != PAD).sum(1)
        embedded = self.dropout(self.source_embedding(backwards(source, lengths)))
        return run_packed(self.encoder, embedded, lengths)[1]

    def forward(self, source: Tensor, target_in: Tensor) -> Tensor:
        states, _ = self.decoder(self.dropout(self.target_embedding(target_in)), self.encode(source))
        return self.dropout(states)

    def start(self, memory: tuple[Tensor, Tensor], beam: int) -> Seq2SeqState:
        return Seq2SeqState(*(part.repeat_interleave(beam, 1) for part in memory))

    def step(self, tokens: Tensor, state: Seq2SeqState) -> tuple[Tensor, Seq2SeqState]:
        output, (state.hidden, state.cell) = self.decoder(
            self.target_embedding(tokens[:, None]), (state.hidden, state.cell)
        )
        return self.output(output[:, 0]).float().log_softmax(-1), state

    def attention(self, source: Tensor, target_in: Tensor) -> dict[str, Tensor]:
        return {}


def backwards(source: Tensor, lengths: Tensor) -> Tensor:
    """Each row's tokens in reverse order, with EOS and padding where they were: a b c EOS -> c b a EOS."""
    position = torch.arange(source.size(1), device=source.device)[None]
    mirrored = lengths[:, None] - 2 - position
    return source.gather(1, torch.where(mirrored >= 0, mirrored, position))
