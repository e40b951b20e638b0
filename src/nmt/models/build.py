"""Models built from their configurations, whose names are those of what implements them."""

from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from nmt import configuration
from nmt.models.protocol import Model


def build(config: configuration.Model, source_size: int, target_size: int) -> Model:
    """Return a model for vocabularies of these sizes.

    Its parameters are drawn from torch's global generator.
    """
    module = import_module(f"nmt.models.{config.family.replace('-', '_')}")
    return getattr(module, type(config).__name__)(config, source_size, target_size)


def build_uninitialized(
    config: configuration.Model, source_size: int, target_size: int, device: torch.device
) -> Model:
    """Return a model whose parameters have any values, for those that will be loaded.

    On the meta device they take no memory.
    """
    with device, Uninitialized():
        return build(config, source_size, target_size)


class Uninitialized(TorchFunctionMode):
    """Draws no random values, which takes seconds for a large model.

    On the meta device torch would first import its compiler.
    """

    RANDOM = (nn.init.normal_, nn.init.uniform_, Tensor.normal_, Tensor.uniform_)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func`, unless it would draw values: then return the tensor as it is."""
        if func in self.RANDOM:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))
