"""Exports of a model's folder: to CTranslate2, to transformers' Marian, to plain safetensors."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file

from nmt.errors import UserError
from nmt.models.weights import parameters
from nmt.serving.ctranslate2 import to_ctranslate2
from nmt.serving.folder import TranslationModel
from nmt.serving.formats import refuse
from nmt.serving.marian import to_huggingface
from nmt.text.subwords import copy_subwords


def export(model: TranslationModel, subwords: Path, to: str, precision: str, output: Path) -> None:
    """Write the folder `output`, which must not exist, with the files of the folder `subwords`.

    Raises UserError, by name, for what a format cannot carry.
    """
    family = model.experiment.model.family
    if to != "safetensors" and family != "transformer":
        raise UserError(f"{to} cannot carry the family {family}: export it to safetensors.")
    if precision == "int8" and to != "ctranslate2":
        raise UserError(
            f"{to} cannot carry int8 weights: choose another precision, or ctranslate2, which can."
        )
    if to != "safetensors":
        refuse(to, {"word pieces": model.configuration["vocabulary"]["kind"] == "wordpiece"})
    match to:
        case "ctranslate2":
            to_ctranslate2(model, precision, output)
        case "huggingface":
            to_huggingface(model, precision, output)
        case "safetensors":
            to_safetensors(model, precision, output)
    copy_subwords(subwords, output)


def to_safetensors(model: TranslationModel, precision: str, output: Path) -> None:
    """Write parameters by our names, a tied one once, and the configuration as metadata.

    This carries every family.
    """
    output.mkdir()
    dtype = getattr(torch, precision)
    tensors = {
        name: tensor.to(dtype).contiguous() for name, tensor in parameters(model.model).items()
    }
    metadata = {"configuration": json.dumps(model.configuration)}
    save_file(tensors, output / "model.safetensors", metadata)
