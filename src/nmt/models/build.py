"""Models built from their configurations, and how many parameters they have."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from nmt import configuration
from nmt.models.protocol import Model


def build(config: configuration.Model, source_size: int, target_size: int) -> Model:
    """Return a model for vocabularies of these sizes, of the class that its configuration names.

    Its parameters are drawn from torch's global generator.
    """
    module = import_module(f"nmt.models.{config.family.replace('-', '_')}")
    model = getattr(module, type(config).__name__)(config, source_size, target_size)
    model.reach = config.reach
    return model


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


@dataclass(frozen=True)
class Size:
    """Numbers of parameters; a tied matrix counts once.

    without_embeddings: all but the tables that are only looked up; the output's matrix counts, tied
    or not.
    """

    parameters: int
    without_embeddings: int


def count_parameters(model: Model) -> Size:
    """Return the numbers of a model's parameters."""
    total = sum(parameter.numel() for parameter in model.parameters())
    tables = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    looked_up = sum(table.numel() for table in tables - {model.output.weight})
    return Size(total, total - looked_up)


def size(config: configuration.Model, source_size: int, target_size: int) -> Size:
    """Return the size of a model for vocabularies of these sizes, without any memory for it."""
    model = build_uninitialized(config, source_size, target_size, torch.device("meta"))
    return count_parameters(model)
