"""The number of parameters of an experiment, counted on models whose tensors take no memory."""

from dataclasses import dataclass

import torch
from torch import nn

from nmt import configuration
from nmt.models.build import build_uninitialized
from nmt.models.protocol import Model


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
