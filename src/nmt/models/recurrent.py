"""Parts of recurrent models: runs that ignore padding, single steps, and initialization."""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence
from torch.utils._pytree import tree_map

from nmt.data.sequences import copy_to
from nmt.device import autocast

# B sentences, S source length, E width of inputs, H hidden width, M width of the encoder's states,
# R rows that step together

LayerState = tuple[Tensor, Tensor]  # of an LSTM's layer: hidden and cell state, (R, H) both
LastState = Any  # (layers, B, H) of a GRU, two such tensors of an LSTM


def run(
    rnn: nn.RNNBase, x: Tensor | PackedSequence, state: LastState = None
) -> tuple[Any, LastState]:
    """Run an RNN over all positions at once, in the type of its weights.

    On a GPU autocast would make any RNN float16, whose gradients underflow without a scaled loss,
    even where the type of all else is bfloat16. On CPUs torch has no LSTM in float16, nor in
    bfloat16 without AVX-512.
    """
    weight = rnn.get_parameter("weight_ih_l0")
    if state is not None:
        state = tree_map(lambda part: part.to(weight.dtype), state)
    with autocast(weight.device, None):
        return rnn(x.to(weight.dtype), state)


def run_packed(rnn: nn.RNNBase, embedded: Tensor, lengths: Tensor) -> tuple[Tensor, LastState]:
    """Run an RNN so that padding changes nothing: (B, S, E) -> states (B, S, M), last states.

    lengths: (B,), on the CPU.
    """
    # torch sorts by itself too, but then waits for a GPU.
    sorted_lengths, order = lengths.sort(descending=True)
    inverse = copy_to(order.argsort(), embedded.device)
    x = embedded.index_select(0, copy_to(order, embedded.device))
    packed_states, last = run(rnn, pack_padded_sequence(x, sorted_lengths, batch_first=True))
    states, _ = pad_packed_sequence(packed_states, batch_first=True, total_length=embedded.size(1))
    last = tree_map(lambda part: part.index_select(1, inverse), last)
    return states.index_select(0, inverse), last


def lstm_step(
    lstm: nn.LSTM, x: Tensor, states: list[LayerState], dropout: Callable[[Tensor], Tensor]
) -> list[LayerState]:
    """Run a stack of LSTMs over one position, for a decoder whose input needs the step before.

    x: (R, E). states: those of each layer. dropout: between the layers. torch's own call takes
    twice as long for one position, and its LSTMCell has no projection.
    """
    following: list[LayerState] = []
    for (hidden, cell), weights in zip(states, lstm.all_weights, strict=True):
        if following:
            x = dropout(following[-1][0])
        w_ih, w_hh, b_ih, b_hh, *projection = weights
        gates = F.linear(x, w_ih, b_ih) + F.linear(hidden, w_hh, b_hh)
        i, f, g, o = gates.chunk(4, -1)  # input, forget, cell and output
        cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
        hidden = torch.sigmoid(o) * torch.tanh(cell)
        for weight in projection:
            hidden = F.linear(hidden, weight)
        following.append((hidden, cell))
    return following


def init_orthogonal(rnn: nn.RNNBase) -> None:
    """Initialize recurrent matrices orthogonal, gate by gate, and biases zero.

    Bahdanau et al. 2015, appendix B.1.
    """
    for name, parameter in rnn.named_parameters():
        if "weight_hh" in name:
            for gate in parameter.split(rnn.hidden_size):
                nn.init.orthogonal_(gate)
        elif "bias" in name:
            nn.init.zeros_(parameter)


def init_orthogonal_lstm(lstm: nn.LSTM) -> None:
    """Initialize an LSTM for narrow layers, gate by gate.

    Recurrent matrices are orthogonal, input matrices as by Glorot and Bengio (2010), and biases
    zero but for the forget gates', which are 1 (Jozefowicz et al. 2015).
    """
    init_orthogonal(lstm)
    for name, parameter in lstm.named_parameters():
        # Views in torch's order of gates: input, forget, cell, output.
        i, f, g, o = parameter.detach().chunk(4)
        if "weight_ih" in name:
            for gate in (i, f, g, o):
                nn.init.xavier_uniform_(gate)
        elif "bias_ih" in name:
            f.fill_(1.0)
