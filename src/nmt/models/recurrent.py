"""What recurrent families share: runs that padding does not change, and additive and multiplicative alignment."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

# B sentences, S source length, T target length, H hidden width, M width of memory's states, A width of alignment


def run_packed(rnn: nn.RNNBase, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor | tuple[Tensor, Tensor]]:
    """Runs an RNN over (B, S, E) so that padding changes nothing; returns states (B, S, M) and the last ones."""
    packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
    states, last = rnn(packed)
    return pad_packed_sequence(states, batch_first=True, total_length=embedded.size(1))[0], last


def backwards(sequence: Tensor, lengths: Tensor) -> Tensor:
    """Each row's items in reverse order, its last (EOS) and padding where they were: a b c EOS -> c b a EOS.

    (B, S) or (B, S, M), lengths (B,) with EOS counted. Twice is where it began.
    """
    position = torch.arange(sequence.size(1), device=sequence.device)[None]
    mirrored = lengths[:, None] - 2 - position
    order = torch.where(mirrored >= 0, mirrored, position)
    return sequence.gather(1, order) if sequence.dim() == 2 else torch.take_along_dim(sequence, order[..., None], 1)


def orthogonal_start(rnn: nn.RNNBase) -> None:
    """Recurrent matrices orthogonal gate by gate, biases zero (Bahdanau et al. 2015, appendix B.1)."""
    for name, parameter in rnn.named_parameters():
        if "weight_hh" in name:
            for gate in parameter.split(rnn.hidden_size):
                nn.init.orthogonal_(gate)
        elif "bias" in name:
            nn.init.zeros_(parameter)


@torch.no_grad()
def remember_at_first(lstm: nn.LSTM) -> None:
    """Adds 1 to the forget gates' biases: what enters the cells stays there at first (Jozefowicz et al. 2015)."""
    for name, parameter in lstm.named_parameters():
        if "bias_ih" in name:
            parameter[lstm.hidden_size : 2 * lstm.hidden_size] += 1


def embedding_gates(rnn: nn.RNNBase, embedded: Tensor) -> Tensor:
    """What the first part of an RNN's input, its bias included, adds to the gates: this part needs no time loop."""
    return F.linear(embedded, rnn.weight_ih_l0[:, : embedded.size(-1)], rnn.bias_ih_l0)


def context_gates(rnn: nn.RNNBase, context: Tensor) -> Tensor:
    """What the last part of its input adds."""
    return F.linear(context, rnn.weight_ih_l0[:, -context.size(-1) :])


def state_gates(rnn: nn.RNNBase, hidden: Tensor) -> Tensor:
    """What its last state and the bias of that add."""
    return F.linear(hidden, rnn.weight_hh_l0, rnn.bias_hh_l0)


def lstm_cell(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """One step in torch's order of gates: (..., 4H), (..., H) -> hidden, cell (..., H)."""
    put, keep, new, show = gates.chunk(4, -1)
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(put) * torch.tanh(new)
    return torch.sigmoid(show) * torch.tanh(cell), cell


def one_step(lstm: nn.LSTM, x: Tensor, hidden: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """A step of a stack: x (R, E), hidden and cell (layers, R, H) -> output (R, H), hidden, cell."""
    output, (hidden, cell) = lstm(x[:, None], (hidden, cell))
    return output[:, 0], hidden, cell


@dataclass
class Memory:
    """What decoders with attention look at, computed once a sentence."""

    states: Tensor  # (B, S, M)
    keys: Tensor  # (B, S, A): the states' share of the alignment's scores
    padding: Tensor  # (B, S), true at padding

    def select(self, sentences: Tensor) -> "Memory":
        return Memory(self.states[sentences], self.keys[sentences], self.padding[sentences])


class Additive(nn.Module):
    """v^T tanh(W query + U state): Bahdanau et al. 2015, appendix A.1.2; Luong et al. 2015 call it concat."""

    def __init__(self, query_width: int, state_width: int, width: int):
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)
        self.key = nn.Linear(state_width, width)
        self.energy = nn.Linear(width, 1, bias=False)

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """(B, T, H), (B, S, A) -> (B, T, S)"""
        return self.energy(torch.tanh(self.query(queries)[:, :, None] + keys[:, None]))[..., 0]


class General(nn.Module):
    """query^T W state: Luong et al. 2015, equation 8."""

    def __init__(self, query_width: int, state_width: int, width: int):
        super().__init__()
        self.key = nn.Linear(state_width, query_width, bias=False)

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        return queries @ keys.mT


class Dot(General):
    """query^T state, which must be of one width: Luong et al. 2015, equation 8."""

    def __init__(self, query_width: int, state_width: int, width: int):
        nn.Module.__init__(self)
        self.key = nn.Identity()


ALIGNMENTS = {"concat": Additive, "general": General, "dot": Dot}


def attend(weights: Tensor, memory: Memory) -> Tensor:
    """(B, T, S) -> context (B, T, M)"""
    return weights.to(memory.states.dtype) @ memory.states


def masked_softmax(scores: Tensor, hidden_places: Tensor) -> Tensor:
    """(B, T, S), and what is true where no one may look, broadcast to it -> weights in at least float32."""
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return scores.masked_fill(hidden_places, -torch.inf).softmax(-1)
