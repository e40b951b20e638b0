"""What a GPU has and the meta device has not: autocast, attention and recurrent layers in one go.

These stand-ins return tensors of the right shapes and types, and note the kernels they stand for.
"""

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode

from nmt.planning.meta import META

# B sentences, T queries, S keys, H heads, d_k and d_v width of a head

Note = Callable[[str, float, float, torch.dtype], None]  # name, FLOPs, bytes, type

# What autocast computes in the lower precision, and what in float32
LOWER = {
    F.linear,
    torch.matmul,
    Tensor.matmul,
    Tensor.__matmul__,
    torch.bmm,
    torch.addmm,
    F.conv1d,
}
HIGHER = {F.layer_norm, F.softmax, Tensor.softmax}


def is_meta(leaf: Any) -> bool:
    """Return whether an argument is a tensor of the device."""
    return isinstance(leaf, Tensor) and leaf.device == META


def size(tensor: Tensor) -> int:
    """Return the bytes of a tensor, of expanded dimensions only one."""
    count = tensor.element_size()
    for length, stride in zip(tensor.shape, tensor.stride(), strict=True):
        count *= length if stride else 1
    return count


class FusedAttention(torch.autograd.Function):
    """Attention as one kernel that keeps the scores on the chip, and makes them anew backwards."""

    @staticmethod
    def forward(
        ctx: Any, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, note: Note
    ) -> Tensor:
        """Return the context: (B, H, T, d_k), (B, H, S, d_k), (B, H, S, d_v) -> (B, H, T, d_v)."""
        context = q.new_empty(*q.shape[:-1], v.size(-1))
        # One multiplication and one addition for each pair of positions and width of a head
        ctx.flops = 2 * q.shape[:-1].numel() * k.size(2) * (q.size(-1) + v.size(-1))
        ctx.note = note
        ctx.save_for_backward(q, k, v, context)
        parts = [q, k, v, context, *([] if mask is None else [mask])]
        note("fused_attention", ctx.flops, sum(map(size, parts)), q.dtype)
        return context

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple:
        """Return empty gradients; the scores are computed again, so five products stand for two."""
        q, k, v, context = ctx.saved_tensors
        moved_bytes = 2 * sum(map(size, (q, k, v))) + size(context) + size(grad)
        ctx.note("fused_attention_backward", 2.5 * ctx.flops, moved_bytes, q.dtype)
        return torch.empty_like(q), torch.empty_like(k), torch.empty_like(v), None, None


class FusedRNN(torch.autograd.Function):
    """A recurrent layer of cuDNN: in each step a product of all gates, and one kernel for the rest.

    Its product with all inputs, which needs no step, is counted with the steps' products.
    """

    @staticmethod
    def forward(ctx: Any, note: Note, x: Tensor, shapes: dict, *others: Tensor) -> tuple:
        """Return outputs and last states of these shapes, of inputs (..., E).

        others: first states and weights.
        """
        count = len(shapes["states"])
        weights = others[count:]
        ctx.note = note
        ctx.steps = shapes["steps"]
        ctx.flops = 2 * x.shape[:-1].numel() * sum(weight.numel() for weight in weights)
        output = x.new_empty(shapes["output"])
        ctx.bytes = ctx.steps * sum(map(size, weights)) / shapes["layers"] + size(x) + size(output)
        ctx.save_for_backward(x, output, *others)
        note_steps(note, "rnn", ctx.steps, ctx.flops, ctx.bytes, x.dtype)
        return output, *(x.new_empty(shape) for shape in shapes["states"])

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> tuple:
        """Return empty gradients: of inputs in each step, of the weights at the end."""
        x, _, *others = ctx.saved_tensors
        note_steps(ctx.note, "rnn_backward", ctx.steps, 2 * ctx.flops, 2 * ctx.bytes, x.dtype)
        return None, torch.empty_like(x), None, *map(torch.empty_like, others)


def note_steps(
    note: Note, name: str, steps: int, flops: float, moved: float, dtype: torch.dtype
) -> None:
    """Note a product and a pointwise kernel for each step."""
    for _ in range(steps):
        note(name, flops / steps, moved / steps, dtype)
        note(f"{name}_gates", 0, 0, dtype)


class GPUFunctions(TorchFunctionMode):
    """What a GPU does and the meta device does not: autocast, and attention in one kernel."""

    def __init__(self, note: Note, dtype: torch.dtype | None):
        super().__init__()
        self.note = note
        self.dtype = dtype
        self.cast_weights: dict[Tensor, Tensor] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func` with its tensors in the type that autocast gives them."""
        kwargs = dict(kwargs or {})
        if func in LOWER and self.dtype:
            args = self.cast(args, self.dtype)
        elif func in HIGHER and self.dtype:
            args = self.cast(args, torch.float32)
        elif func in (torch.lstm, torch.gru):
            return self.recurrent(func is torch.lstm, args)
        elif func is F.dropout:
            return torch.native_dropout(args[0], kwargs["p"], kwargs["training"])[0]
        elif func is F.scaled_dot_product_attention:
            q, k, v = self.cast(args[:3], self.dtype or args[0].dtype)
            mask = args[3] if len(args) > 3 else kwargs.get("attn_mask")
            return FusedAttention.apply(q, k, v, mask, self.note)
        return func(*args, **kwargs)

    def recurrent(self, is_lstm: bool, args: tuple) -> tuple:
        """Return outputs and last states of torch.lstm or torch.gru, packed or batch_first."""
        x = args[0]
        packed = isinstance(args[1], Tensor) and args[1].device != META
        states, weights = args[2:4] if packed else args[1:3]
        states = states if is_lstm else (states,)
        matrices = [weight for weight in weights if weight.dim() == 2]
        hidden = states[0]
        layers = hidden.size(0)  # times directions
        directions = 2 if args[8 if packed else 7] else 1
        steps = len(args[1]) if packed else x.size(1)
        shapes = {
            "layers": layers,
            "steps": layers * steps,
            "output": (*x.shape[:-1], directions * hidden.size(-1)),
            "states": [state.shape for state in states],
        }
        dtype = self.dtype or x.dtype
        # A layer's steps read that layer's weights, so each step reads its share of them all.
        x, *matrices = self.cast((x, *matrices), dtype)
        return FusedRNN.apply(self.note, x, shapes, *states, *matrices)

    def cast(self, value: Any, dtype: torch.dtype) -> Any:
        """Return floating-point tensors in `dtype`; a parameter is cast once in a forward pass."""
        if isinstance(value, (tuple, list)):
            return type(value)(self.cast(part, dtype) for part in value)
        if not is_meta(value) or not value.is_floating_point() or value.dtype == dtype:
            return value
        if not isinstance(value, torch.nn.Parameter):
            return value.to(dtype)
        if value not in self.cast_weights:
            self.cast_weights[value] = value.to(dtype)
        return self.cast_weights[value]
