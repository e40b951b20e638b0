"""torch's meta device as a GPU: what would make a real one wait, or mix devices, is an error.

torch itself refuses to copy meta tensors to the host (`item`, `tolist`, `cpu`) and to compute what
depends on values (`nonzero`, a mask as an index). The two modes here refuse the rest.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from nmt.planning.meta import META, MadeUpValues, whole_updates

COPIES = {torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default}
# Take lengths from the host, wherever the sentences are
TAKE_LENGTHS = {
    torch.ops.aten._pack_padded_sequence.default,
    torch.ops.aten._pack_padded_sequence_backward.default,
    torch.ops.aten._pad_packed_sequence.default,
}


class DeviceMixed(Exception):
    """An operation got tensors of the GPU and of the CPU."""


class DeviceWaits(Exception):
    """A copy to the GPU would wait until all before it is done."""


class OneDevice(TorchDispatchMode):
    """Refuse operations on tensors of both devices, and copies that wait."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)]
        # A scalar of the CPU becomes an argument of the kernel.
        on_cpu = [tensor for tensor in tensors if tensor.device != META and tensor.dim()]
        if func in COPIES:
            to_gpu = kwargs.get("device") == META or tensors[0].device == META
            blocking = not (kwargs.get("non_blocking") or True in args[2:])
            if on_cpu and to_gpu and blocking:
                raise DeviceWaits(f"{func} copies to the GPU and waits")
        elif func in TAKE_LENGTHS:
            pass
        elif on_cpu and len(on_cpu) < len([tensor for tensor in tensors if tensor.dim()]):
            raise DeviceMixed(f"{func} gets {[tensor.device.type for tensor in tensors]}")
        return func(*args, **kwargs)


class NoHiddenCopies(TorchFunctionMode):
    """Refuse lists of numbers that torch would copy to the GPU where no dispatch mode sees it."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        made = func in (torch.tensor, torch.as_tensor)
        if made and torch.device(kwargs.get("device") or "cpu") == META:
            raise DeviceWaits("a new tensor of Python numbers is copied to the GPU")
        if func in (Tensor.__getitem__, Tensor.__setitem__) and args[0].device == META:
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            if any(isinstance(part, list) for part in index):
                raise DeviceWaits("a list as an index is copied to the GPU")
        return func(*args, **kwargs)


@contextmanager
def pretended_gpu() -> Iterator[MadeUpValues]:
    """Return a context in which the meta device is as strict as a GPU that must not wait."""
    with NoHiddenCopies(), OneDevice(), whole_updates() as values:
        yield values
