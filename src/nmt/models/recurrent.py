"""Parts of recurrent models: runs that ignore padding, initialization, and gates computed in parts.

A recurrent layer's pre-activations are sums of linear maps of its input and of its last hidden
state. The input is the concatenation of an embedding and a context vector, so that the embedding's
part needs no loop over time.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from nmt.data.source import copy_to
from nmt.device import autocast, autocast_dtype

# B sentences, S source length, E embedding width, C context width, H hidden width,
# M width of the encoder's states, G gates (3 of a GRU, 4 of an LSTM)

LinearMap = Callable[[Tensor], Tensor]
LastState = Any  # (layers, B, H) of a GRU, two such tensors of an LSTM


def run(
    rnn: nn.RNNBase, x: Tensor | PackedSequence, state: LastState = None
) -> tuple[Any, LastState]:
    """Run an RNN over all positions at once, on a GPU in the type of its weights.

    There autocast would make any RNN float16, whose gradients underflow without a scaled loss, even
    where the type of all else is bfloat16.
    """
    weight = rnn.get_parameter("weight_ih_l0")
    if not autocast_halves_rnns(weight.device):
        return rnn(x, state)
    if isinstance(state, Tensor):
        state = state.to(weight.dtype)
    elif state is not None:
        state = tuple(part.to(weight.dtype) for part in state)
    with autocast(weight.device, None):
        return rnn(x.to(weight.dtype), state)


def autocast_halves_rnns(device: torch.device) -> bool:
    """Return whether torch's autocast of RNNs ignores its type: that of cuDNN does."""
    return device.type == "cuda"


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
    if isinstance(last, tuple):
        hidden, cell = last
        last = hidden.index_select(1, inverse), cell.index_select(1, inverse)
    else:
        last = last.index_select(1, inverse)
    return states.index_select(0, inverse), last


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


def gates_from_embedding(rnn: nn.RNNBase, embedding: Tensor) -> Tensor:
    """Return what the first part of an RNN's input and its bias add to the pre-activations.

    (..., E) -> (..., G * H)
    """
    weight = rnn.get_parameter("weight_ih_l0")[:, : embedding.size(-1)]
    return F.linear(embedding, weight, rnn.get_parameter("bias_ih_l0"))


def gates_from_context(rnn: nn.RNNBase, width: int) -> LinearMap:
    """Return the map from the last part of the input to what it adds: (..., C) -> (..., G * H).

    width: C.
    """
    return linear_in_loop(rnn.get_parameter("weight_ih_l0")[:, -width:])


def gates_from_hidden(rnn: nn.RNNBase, layer: int = 0) -> LinearMap:
    """Return the map from a layer's last hidden state to what it adds, with its bias.

    (..., H) -> (..., G * H)
    """
    weight = rnn.get_parameter(f"weight_hh_l{layer}")
    return linear_in_loop(weight, rnn.get_parameter(f"bias_hh_l{layer}"))


def linear_in_loop(weight: Tensor, bias: Tensor | None = None) -> LinearMap:
    """Return F.linear with these for the steps of a loop: (..., in) -> (..., out).

    Autograd would compute a gradient as large as the weight at every step, and add them up. Here
    the steps' gradients and inputs are kept, and multiplied once.
    """
    if not torch.is_grad_enabled():
        return lambda x: F.linear(x, weight, bias)
    steps: list[tuple[Tensor, Tensor]] = []
    shared = WeightOfLoop.apply(weight, steps)
    if bias is None:
        return lambda x: StepOfLoop.apply(x, shared, steps)
    return lambda x: StepOfLoop.apply(x, shared, steps) + bias


class WeightOfLoop(torch.autograd.Function):
    """The weight of a linear map that steps of a loop share, (out, in).

    Its gradient comes from the list that StepOfLoop fills.
    """

    @staticmethod
    def forward(ctx: Any, weight: Tensor, steps: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Return the weight, in autocast's type where that is on."""
        ctx.set_materialize_grads(False)  # each step gives None
        ctx.steps = steps
        return weight.to(autocast_dtype(weight.device) or weight.dtype, copy=True)

    @staticmethod
    def backward(ctx: Any, *_: None) -> tuple[Tensor, None]:
        """Return the sum of all steps' gradients."""
        outputs, inputs = (torch.cat(parts) for parts in zip(*ctx.steps, strict=True))
        ctx.steps.clear()
        return outputs.mT @ inputs, None


class StepOfLoop(torch.autograd.Function):
    """A linear map in a step of a loop; backward keeps what the weight's gradient is made of."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, steps: list[tuple[Tensor, Tensor]]) -> Tensor:
        """Multiply: (..., in) -> (..., out)."""
        x = x.to(weight.dtype)
        ctx.save_for_backward(x, weight)
        ctx.steps = steps
        return F.linear(x, weight)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """Return the gradient of the input, and keep it with the input."""
        x, weight = ctx.saved_tensors
        ctx.steps.append((gradient.flatten(0, -2), x.flatten(0, -2)))
        return gradient @ weight, None, None


def lstm_cell(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """Return an LSTM's next hidden and cell states: (..., 4H), (..., H) -> (..., H), (..., H).

    gates: pre-activations in torch's order: input, forget, cell, output.
    """
    i, f, g, o = gates.chunk(4, -1)
    cell = torch.sigmoid(f) * cell + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(cell), cell


class LSTMSteps:
    """A stack of LSTMs that a decoder runs step by step, because each needs the one before.

    context_width: C, of the last part of the stack's input, which is known from step to step; 0
    where there is none. dropout: between the layers.
    """

    def __init__(self, lstm: nn.LSTM, context_width: int, dropout: Callable[[Tensor], Tensor]):
        layers = range(lstm.num_layers)
        self.dropout = dropout
        self.from_context = gates_from_context(lstm, context_width) if context_width else None
        self.from_hidden = [gates_from_hidden(lstm, layer) for layer in layers]
        self.from_below = [
            linear_in_loop(
                lstm.get_parameter(f"weight_ih_l{layer}"), lstm.get_parameter(f"bias_ih_l{layer}")
            )
            for layer in layers[1:]
        ]
        self.projections = [
            linear_in_loop(lstm.get_parameter(f"weight_hr_l{layer}")) if lstm.proj_size else None
            for layer in layers
        ]

    def step(
        self, gates: Tensor, context: Tensor, hidden: list[Tensor], cell: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """Return the next hidden and cell states of the layers.

        gates: what the embedding adds to the first layer's pre-activations, (B, 4H). context:
        (B, C). hidden: of each layer, (B, H), or as wide as its projection. cell: (B, H).
        """
        next_hidden: list[Tensor] = []
        next_cell: list[Tensor] = []
        if self.from_context:
            gates = gates + self.from_context(context)
        for layer, (from_hidden, projection) in enumerate(
            zip(self.from_hidden, self.projections, strict=True)
        ):
            if layer:
                gates = self.from_below[layer - 1](self.dropout(next_hidden[-1]))
            output, cell_of_layer = lstm_cell(gates + from_hidden(hidden[layer]), cell[layer])
            next_hidden.append(projection(output) if projection else output)
            next_cell.append(cell_of_layer)
        return next_hidden, next_cell
