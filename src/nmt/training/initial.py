"""Weights of a trained model, from which another training starts."""

import re
from pathlib import Path

from nmt.configuration import Experiment, validated
from nmt.errors import UserError
from nmt.files import checksum, read_json
from nmt.models.protocol import Model
from nmt.models.weights import load_tensors, set_parameters
from nmt.text.subwords import SubwordPair

FREE = re.compile(r".*dropout|init_|positions_std")  # keys that matter to training alone


def initialize(model: Model, experiment: Experiment, subwords: SubwordPair, folder: Path) -> str:
    """Give a model the weights of a trained one's folder, and return their checksum.

    Raises UserError where that has another architecture or other subwords.
    """
    path = folder / "configuration.json"
    own = validated(Experiment, read_json(path, ["experiment"])["experiment"], str(path)).model
    mine = experiment.model.model_dump()
    for key, value in own.model_dump().items():
        if not FREE.match(key) and mine.get(key) != value:
            raise UserError(f"initialize_from: {key} of {folder} is {value}, here {mine.get(key)}.")
    if SubwordPair.load(folder).checksums != subwords.checksums:
        raise UserError(f"initialize_from: {folder} has other subwords than the tokens here.")
    set_parameters(model, load_tensors(folder / "model.safetensors")[0])
    return checksum(folder / "model.safetensors")
