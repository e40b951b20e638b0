"""Tensors on disk: safetensors with metadata, written whole; nothing loaded can run code."""

import errno
import json
import os
import zlib
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from nmt.errors import UserError
from nmt.files import atomic_write

CHECKPOINT_REMEDY = (
    "put a copy of it there; without one, delete the folder of the run that was trained and train"
    " again from the first update, because all its copies below results are one file (hard links)"
)


def save_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict | None = None) -> None:
    """Write tensors and metadata to a file.

    Raises OSError when the disk is full.
    """
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # One entry: safetensors writes several in any order.
    entry = {"json": json.dumps([checksum(tensors), metadata or {}])}
    with atomic_write(path) as temporary_path:
        try:
            save_file(tensors, temporary_path, entry)
        except SafetensorError as error:
            if f"os error {errno.ENOSPC}" in str(error):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from None
            raise UserError(f"{path} cannot be written: {error}.") from None


def load_tensors(path: Path, remedy: str = "make it again") -> tuple[dict[str, Tensor], dict]:
    """Return the tensors and the metadata of a file.

    remedy: what brings the file back. Raises UserError when it is missing or damaged.
    """
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()  # the file itself is no iterable
            tensors = {name: file.get_tensor(name) for name in names}
            expected, metadata = json.loads(file.metadata()["json"])
        if expected != checksum(tensors):
            raise ValueError("its checksum is another")
        return tensors, metadata
    except FileNotFoundError:
        raise UserError(f"{path} is not there: {remedy}.") from None
    except OSError as error:  # safetensors' own errors name no file
        raise UserError(f"{path} cannot be read: {error}.") from None
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UserError(f"{path} is damaged ({error}): {remedy}.") from None


def checksum(tensors: dict[str, Tensor]) -> str:
    """Return the CRC-32 of all values, in the order of their names."""
    value = 0
    for _, tensor in sorted(tensors.items()):
        value = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy().data, value)
    return f"{value:08x}"


def parameters(model: nn.Module) -> dict[str, Tensor]:
    """Return the model's parameters by name; a tied one is there once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def require_same_parameters(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Raise UserError when names or shapes are not those of the model's parameters."""
    expected, given = shapes(dict(model.named_parameters())), shapes(tensors)
    for name in sorted(expected.keys() | given.keys()):
        if expected.get(name) != given.get(name):
            raise UserError(
                f"these weights are not of this model: {name} is {given.get(name, 'missing')}, the"
                f" model's is {expected.get(name, 'missing')}."
            )


@torch.no_grad()
def set_parameters(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Copy tensors into the model's parameters.

    Raises UserError when names or shapes are not the model's.
    """
    require_same_parameters(model, tensors)
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[name])


def shapes(tensors: dict[str, Tensor]) -> dict[str, torch.Size]:
    """Return the shape of each tensor."""
    return {name: tensor.shape for name, tensor in tensors.items()}


def average(checkpoints: list[Path]) -> dict[str, Tensor]:
    """Return the mean of each parameter over checkpoints, summed in float64 (AIAYN section 6.1).

    Raises UserError when they are not of the same model.
    """
    total: dict[str, Tensor] = {}
    for path in checkpoints:
        tensors, _ = load_tensors(path, CHECKPOINT_REMEDY)
        if total and shapes(tensors) != shapes(total):
            raise UserError(
                f"{path} and {checkpoints[0]} are not of the same model: average one run's alone."
            )
        for name, tensor in tensors.items():
            total[name] = total.get(name, 0) + tensor.double()
    dtype = torch.get_default_dtype()
    return {name: (tensor / len(checkpoints)).to(dtype) for name, tensor in total.items()}
