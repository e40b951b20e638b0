"""Tensors on disk: safetensors, written whole, with a few words of metadata; nothing loaded can run
code.
"""

import json
import os
import re
import zlib
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from nmt.errors import UserError
from nmt.files import written_whole


def save_tensors(path: Path, tensors: dict[str, Tensor], metadata: dict | None = None) -> None:
    """Raises OSError when the disk is full, say."""
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with written_whole(path) as beside:
        try:
            # As one entry: safetensors writes several in any order.
            save_file(tensors, beside, {"json": json.dumps([checksum(tensors), metadata or {}])})
        except SafetensorError as error:
            found = re.search(
                r"os error (\d+)", str(error)
            )  # it has the system's error only in words
            if not found:
                raise
            raise OSError(int(found[1]), os.strerror(int(found[1])), str(path)) from None


def load_tensors(path: Path) -> tuple[dict[str, Tensor], dict]:
    """The tensors and the metadata of a file. Raises UserError when it is missing or damaged."""
    try:
        with safe_open(path, framework="pt") as file:
            names = file.keys()  # the file itself is no iterable
            tensors = {name: file.get_tensor(name) for name in names}
            expected, metadata = json.loads(file.metadata()["json"])
        if expected != checksum(tensors):
            raise ValueError("its checksum is another")
        return tensors, metadata
    except FileNotFoundError:
        raise UserError(f"{path} is not there.") from None
    except OSError as error:  # safetensors' own name no file
        raise UserError(f"{path} cannot be read: {error}.") from None
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{path} is damaged ({error}): delete it and run the same command again."
        ) from None


def checksum(tensors: dict[str, Tensor]) -> str:
    """CRC-32 of all values, in the order of their names."""
    value = 0
    for _, tensor in sorted(tensors.items()):
        value = zlib.crc32(tensor.reshape(-1).view(torch.uint8).numpy(), value)
    return f"{value:08x}"


def shapes(tensors: dict[str, Tensor]) -> dict[str, torch.Size]:
    return {name: tensor.shape for name, tensor in tensors.items()}


def parameters(model: nn.Module) -> dict[str, Tensor]:
    """The model's parameters by name; one that is tied is there once."""
    return {name: parameter.detach() for name, parameter in model.named_parameters()}


def require_of(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Raises UserError when names or shapes are not the model's."""
    own = dict(model.named_parameters())
    for name in own.keys() ^ tensors.keys():
        raise UserError(
            f"these weights are not of this model: {name} is only in"
            f" {'it' if name in own else 'them'}."
        )
    for name, parameter in own.items():
        if parameter.shape != tensors[name].shape:
            raise UserError(
                f"these weights are not of this model: {name} is {tuple(tensors[name].shape)}, "
                f"the model's is {tuple(parameter.shape)}."
            )


@torch.no_grad()
def set_parameters(model: nn.Module, tensors: dict[str, Tensor]) -> None:
    """Raises UserError when names or shapes are not the model's."""
    require_of(model, tensors)
    for name, parameter in model.named_parameters():
        parameter.copy_(tensors[name])


def average(checkpoints: list[Path]) -> dict[str, Tensor]:
    """The mean of each parameter over the checkpoints, summed in float64 (AIAYN section 6.1).

    Raises UserError when they are not of the same model.
    """
    total: dict[str, Tensor] = {}
    for path in checkpoints:
        tensors = load_tensors(path)[0]
        if total and shapes(tensors) != shapes(total):
            raise UserError(
                f"{path} and {checkpoints[0]} are not of the same model: average one run's alone."
            )
        for name, tensor in tensors.items():
            total[name] = total.get(name, 0) + tensor.double()
    dtype = torch.get_default_dtype()
    return {name: (tensor / len(checkpoints)).to(dtype) for name, tensor in total.items()}
