"""What training needs of torch, the machine and the data, asked before it begins: later it would
cost what was done.
"""

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
    """Raises UserError for what torch cannot do; its own error comes later and names no setting."""
    plain = any(isinstance(module, nn.LSTM) and not module.proj_size for module in model.modules())
    if plain and device.type == "cpu" and settings.precision == "float16":
        raise UserError(
            "torch cannot train an LSTM in float16 on a CPU: set precision to bfloat16 or float32."
        )


def require_memory(parameters: int, device: torch.device) -> None:
    """Raises UserError when not even a float32 weight and its gradient fit for each of the
    parameters.
    """
    if device.type == "cuda":
        there = torch.cuda.get_device_properties(device).total_memory
    else:
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if 2 * 4 * parameters > there:
        raise UserError(
            f"{parameters / 1e6:,.0f} million parameters and their gradients take"
            f" {8 * parameters / 2**30:,.1f} GiB, the {device.type} has {there / 2**30:,.1f}:"
            " choose a smaller row or a larger machine."
        )


def require_positions(model: Model, dev: Batches, name: Path) -> None:
    """Raises UserError for a dev set of which the model cannot say how well it does: it is never
    cut.
    """
    longest, most = (
        int(max(dev.source_lengths.max(), dev.target_lengths.max())) - 1,
        reach(model),
    )  # without EOS
    if most is not None and longest > most:
        raise UserError(
            f"{name} has a sentence of {longest} subwords, the model positions for {most} a side:"
            " raise max_positions."
        )
