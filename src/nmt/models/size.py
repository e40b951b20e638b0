"""How many parameters a row has, counted on models whose tensors have shapes but no memory."""

from dataclasses import dataclass

import torch
from torch import nn

from nmt import configuration
from nmt.models.build import build
from nmt.models.protocol import Model


@dataclass(frozen=True)
class Size:
    parameters: int  # a tied matrix counts once
    without_embeddings: (
        int  # all but the tables that are only looked up; the output's matrix counts, tied or not
    )


def count(model: Model) -> Size:
    every = sum(parameter.numel() for parameter in model.parameters())
    tables = {module.weight for module in model.modules() if isinstance(module, nn.Embedding)}
    return Size(every, every - sum(table.numel() for table in tables - {model.output.weight}))


def size(config: configuration.Model, source_size: int, target_size: int) -> Size:
    """Of a model for vocabularies of these sizes; however large, it takes no memory."""
    with torch.device("meta"):
        return count(build(config, source_size, target_size))
