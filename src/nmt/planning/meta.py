"""Whole updates on torch's meta device, whose tensors have shapes and types but no values."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.library import Library
from torch.overrides import TorchFunctionMode

META = torch.device("meta")
# torch has fused Adam on the meta device, but not fused SGD.
FUSED_SGD = Library("aten", "IMPL", "Meta")
FUSED_SGD.impl("_fused_sgd_", lambda *_, **__: None)
FUSED_DEVICES = "torch.optim.optimizer._get_fused_kernels_supported_devices"


class MadeUpValues(TorchFunctionMode):
    """Answer the questions about values that a mixture of experts has, and note them.

    The shapes of its tensors depend on how many tokens are real (made up: all), and on how many go
    to each expert (made up: equally many). A GPU waits where they are asked for.
    """

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func`, or answer in its place."""
        kwargs = kwargs or {}
        on_meta = bool(args) and isinstance(args[0], Tensor) and args[0].device == META
        if on_meta and func is Tensor.__getitem__ and is_mask(args[1]):
            self.asked.append("which tokens are real")
            return args[0].flatten(0, args[1].dim() - 1)
        if on_meta and func is torch.searchsorted:
            self.asked.append("how many tokens go to each expert")
            return bounds_of_equal_parts(args[0].numel(), args[1].numel() - 1)
        return func(*args, **kwargs)


def is_mask(index: Any) -> bool:
    """Return whether an index chooses by truth values."""
    return isinstance(index, Tensor) and index.dtype == torch.bool


def bounds_of_equal_parts(total: int, parts: int) -> Tensor:
    """Return where parts begin, as equal as can be, and the total: (parts + 1,), on the CPU."""
    return torch.arange(parts + 1) * total // parts


@contextmanager
def whole_updates() -> Iterator[MadeUpValues]:
    """Return a context in which models can be trained on the meta device."""
    values = MadeUpValues()
    with mock.patch(FUSED_DEVICES, return_value=["cpu", "cuda", "meta"]), values:
        yield values
