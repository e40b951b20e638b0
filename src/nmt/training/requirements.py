"""What training needs of torch, the machine and the data, checked before it begins."""

import os
from pathlib import Path

import torch
from torch import nn

from nmt.configuration import Training
from nmt.data.batches import Batches
from nmt.errors import UserError
from nmt.models.positions import reach
from nmt.models.protocol import Model


def require_support(model: Model, settings: Training, device: torch.device) -> None:
    """Raise UserError for what torch cannot do.

    Its own error comes later and names no setting.
    """
    has_lstm = any(
        isinstance(module, nn.LSTM) and not module.proj_size for module in model.modules()
    )
    if has_lstm and device.type == "cpu" and settings.precision == "float16":
        raise UserError(
            "torch cannot train an LSTM in float16 on a CPU: set precision to bfloat16 or float32."
        )


def require_memory(parameters: int, settings: Training, device: torch.device) -> None:
    """Raise UserError when parameters, gradients and moments do not fit, which are in float32."""
    if device.type == "cuda":
        memory = torch.cuda.get_device_properties(device).total_memory
    else:
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    moments = 0 if settings.optimizer == "sgd" else 2
    needed = (2 + moments) * 4 * parameters
    if needed > memory:
        raise UserError(
            f"{parameters / 1e6:,.0f} million parameters, with their gradients and what the"
            f" optimizer keeps, take {needed / 2**30:,.1f} GiB, the {device.type} has"
            f" {memory / 2**30:,.1f}:"
            " choose a smaller experiment or a larger machine."
        )


def require_positions(model: Model, dev: Batches, name: Path) -> None:
    """Raise UserError when the model has too few positions for the dev set, which is never cut."""
    limit = reach(model)
    longest = int(max(dev.source_lengths.max(), dev.target_lengths.max())) - 1  # without EOS
    if limit is not None and longest > limit:
        raise UserError(
            f"{name} has a sentence of {longest} subwords, the model positions for {limit} a side:"
            " leave it out."
        )
