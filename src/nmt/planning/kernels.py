"""The kernels of one update: what each computes and moves.

Whatever autograd and the optimizer call is seen by torch's dispatcher, below which one operation is
one kernel, so no family needs a formula of its own. A GPU's kernels are counted on the meta device,
without computing anything; a CPU's, which are others, in an update that is computed.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from nmt.configuration import Experiment
from nmt.data.batch import UpdateBatch
from nmt.models.build import build
from nmt.planning.gpu_functions import GPUFunctions, note_steps, size
from nmt.planning.meta import META, whole_updates
from nmt.training.distributed import ProcessGroup
from nmt.training.machine import AUTOCAST
from nmt.training.trainer import Trainer

MOST_COUNTED = 6  # micro-batches; of an update of more only the first two, for all are alike

# Allocate, or return another view of the same memory
NO_KERNEL = {"empty", "empty_like", "new_empty", "empty_strided", "_unsafe_view", "detach", "alias"}
NO_KERNEL |= {"unsafe_split", "lift_fresh", "_reshape_alias", "unsafe_chunk"}
# Read only the rows that are asked for, or write nothing but a few elements
LOOKUPS = {"embedding", "gather", "index", "index_select"}
SCATTERS = {"index_put_", "_index_put_impl_", "scatter_", "index_add"}
# oneDNN's LSTM of a whole sequence (S, B, E), and its backward pass, with twice the products
RNN_LAYERS = {"mkldnn_rnn_layer": 1, "mkldnn_rnn_layer_backward": 2}
# What the step of an update begins with: the norm of the gradient, of a GPU and of a CPU
CLIPPING = {"_foreach_norm", "linalg_vector_norm"}


@dataclass(frozen=True)
class Kernel:
    """One kernel: floating-point operations of matrix products in `dtype`, and bytes moved."""

    name: str
    flops: float
    bytes: float
    dtype: torch.dtype


@dataclass(frozen=True)
class Count:
    """All kernels of an update, and the most bytes that its model and one micro-batch hold.

    repeats: how often each of `micro_batches` kernels counts, which are of a part of an update's
    micro-batches; those of `step`, clipping and the optimizer, count once.
    """

    micro_batches: list[Kernel]
    step: list[Kernel]
    repeats: float
    memory: float
    target_tokens: int


class KernelCounter(TorchDispatchMode):
    """Note the kernel of each operation."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels: list[Kernel] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func` and note it, unless it only returns a view."""
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        if func.is_view or name in NO_KERNEL:
            return result
        if name in RNN_LAYERS:
            x, *weights = args[:3]
            flops = RNN_LAYERS[name] * 2 * x.shape[:-1].numel() * sum(w.numel() for w in weights)
            moved_bytes = RNN_LAYERS[name] * (len(x) * sum(map(size, weights)) + 2 * size(x))
            note_steps(self.note, name, len(x), flops, moved_bytes, x.dtype)
            return result
        inputs = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        outputs = [leaf for leaf in tree_leaves(result) if isinstance(leaf, Tensor)]
        if inputs or outputs:
            flops = 0
            counted = getattr(torch.ops.aten, name.rstrip("_"), None)  # addmm_ as addmm
            if counted in flop_registry:
                flops = flop_registry[counted](*args, **kwargs, out_val=result)
            dtype = (outputs or inputs)[0].dtype
            self.note(name, flops, moved(func, name, args, inputs, outputs), dtype)
        return result

    def note(self, name: str, flops: float, moved_bytes: float, dtype: torch.dtype) -> None:
        """Note a kernel."""
        self.kernels.append(Kernel(name, flops, moved_bytes, dtype))


def moved(func: Any, name: str, args: tuple, inputs: list[Tensor], outputs: list[Tensor]) -> float:
    """Return the bytes that an operation reads and writes."""
    written = sum(map(size, outputs))
    if name in LOOKUPS:
        return 2 * written
    if name in SCATTERS:
        return 3 * sum(map(size, inputs[1:]))
    if func._schema.is_mutable and not outputs:
        # Lists of tensors, as fused optimizers change them
        for argument, value in zip(func._schema.arguments, args, strict=False):
            if argument.alias_info is not None and argument.alias_info.is_write:
                written += sum(
                    size(leaf) for leaf in tree_leaves(value) if isinstance(leaf, Tensor)
                )
    return sum(map(size, inputs)) + written


@contextmanager
def counting(trainer: Trainer) -> Iterator[tuple[KernelCounter, list[int]]]:
    """Return a context that counts kernels, and the bytes each micro-batch keeps for backward.

    On the meta device they are a GPU's.
    """
    counter = KernelCounter()
    kept: list[int] = []
    seen: set[int] = set()
    functions = GPUFunctions(counter.note, AUTOCAST[trainer.settings.precision])

    def begin(*_: Any) -> None:
        functions.cast_weights.clear()
        seen.clear()
        # Weights are counted as such.
        seen.update(p.untyped_storage()._cdata for p in trainer.model.parameters())
        kept.append(0)

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        if kept and storage._cdata not in seen:
            seen.add(storage._cdata)
            kept[-1] += storage.nbytes()
        return tensor

    hook = trainer.objective.register_forward_pre_hook(begin)
    with ExitStack() as stack:
        stack.enter_context(torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor))
        if trainer.group.device == META:
            foreach = "torch.nn.utils.clip_grad._has_foreach_support"
            stack.enter_context(whole_updates())
            stack.enter_context(mock.patch(foreach, return_value=True))
            stack.enter_context(functions)
        stack.enter_context(counter)
        yield counter, kept
    hook.remove()


def count_update(
    experiment: Experiment, sizes: tuple[int, int], batch: UpdateBatch, device: torch.device = META
) -> Count:
    """Count the kernels of an update on a GPU, or on the CPU that `device` is.

    sizes: of the vocabularies. batch: with tensors on the device; of many micro-batches the first
    two stand for all.
    """
    few = len(batch.micro_batches) <= MOST_COUNTED
    counted = dict(islice(batch.micro_batches.items(), None if few else 2))
    with device:
        model = build(experiment.model, *sizes)
    trainer = Trainer(model, experiment.training, ProcessGroup(device), seed=1)
    with counting(trainer) as (counter, kept):
        trainer.train_step(replace(batch, micro_batches=counted), learning_rate=1e-4, update=1)
    weights = sum(map(size, model.parameters()))
    moments = sum(map(size, tree_leaves([*trainer.optimizer.state.values()])))
    # Weights, gradients and moments, and what the largest micro-batch keeps for its backward pass
    memory = 2 * weights + moments + max(kept)
    kernels = counter.kernels
    step = next(i for i, kernel in enumerate(kernels) if kernel.name in CLIPPING)
    repeats = len(batch.micro_batches) / len(counted)
    return Count(kernels[:step], merged(kernels[step:]), repeats, memory, batch.target_tokens)


def merged(kernels: list[Kernel]) -> list[Kernel]:
    """Return one kernel of each name, as GPUs clip and update all tensors in one go."""
    by_name: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        by_name.setdefault(kernel.name, []).append(kernel)
    return [
        replace(alike[0], flops=sum(k.flops for k in alike), bytes=sum(k.bytes for k in alike))
        for alike in by_name.values()
    ]
