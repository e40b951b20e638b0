"""What recurrent families share: runs that padding does not change, and gates in parts."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

# B sentences, S source length, T target length, H hidden width, M width of memory's states


def run_packed(
    rnn: nn.RNNBase, embedded: Tensor, lengths: Tensor
) -> tuple[Tensor, Tensor | tuple[Tensor, Tensor]]:
    """Runs an RNN over (B, S, E) so that padding changes nothing; returns states (B, S, M) and the
    last ones.
    """
    packed = pack_padded_sequence(embedded, lengths.cpu(), batch_first=True, enforce_sorted=False)
    states, last = rnn(packed)
    return pad_packed_sequence(states, batch_first=True, total_length=embedded.size(1))[0], last


def backwards(sequence: Tensor, lengths: Tensor) -> Tensor:
    """Each row's items in reverse order, its last (EOS) and padding where they were: a b c EOS -> c
    b a EOS.

    (B, S) or (B, S, M), lengths (B,) with EOS counted. Twice is where it began.
    """
    position = torch.arange(sequence.size(1), device=sequence.device)[None]
    mirrored = lengths[:, None] - 2 - position
    order = torch.where(mirrored >= 0, mirrored, position)
    return (
        sequence.gather(1, order)
        if sequence.dim() == 2
        else torch.take_along_dim(sequence, order[..., None], 1)
    )


def orthogonal_start(rnn: nn.RNNBase) -> None:
    """Recurrent matrices orthogonal gate by gate, biases zero (Bahdanau et al. 2015, appendix
    B.1).
    """
    for name, parameter in rnn.named_parameters():
        if "weight_hh" in name:
            for gate in parameter.split(rnn.hidden_size):
                nn.init.orthogonal_(gate)
        elif "bias" in name:
            nn.init.zeros_(parameter)


def orthogonal_lstm(lstm: nn.LSTM) -> None:
    """Start an LSTM's recurrent matrices orthogonal, its input matrices by Glorot and Bengio
    (2010), each gate's by
    itself, and its biases zero but for the forget gates', which start at 1 (Jozefowicz et al.
    2015)."""
    orthogonal_start(lstm)
    for name, parameter in lstm.named_parameters():
        gates = parameter.detach().chunk(4)  # views in torch's order: input, forget, cell, output
        if "weight_ih" in name:
            for gate in gates:
                nn.init.xavier_uniform_(gate)
        elif "bias_ih" in name:
            gates[1].fill_(1.0)


def embedding_gates(rnn: nn.RNNBase, embedded: Tensor) -> Tensor:
    """What the first part of an RNN's input, its bias included, adds to the gates: this part needs
    no time loop.
    """
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


def one_step(
    lstm: nn.LSTM, x: Tensor, hidden: Tensor, cell: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """A step of a stack: x (R, E), hidden and cell (layers, R, H) -> output (R, H), hidden,
    cell.
    """
    output, (hidden, cell) = lstm(x[:, None], (hidden, cell))
    return output[:, 0], hidden, cell
