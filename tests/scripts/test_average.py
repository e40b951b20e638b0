"""average.py through its command line."""

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from nmt.configuration import load_catalog
from nmt.files import read_json, write_json
from nmt.models.build import build
from nmt.models.weights import parameters, save_tensors
from nmt.text.subwords import SUBWORD_FILES
from tests.support import tiny_training
from tests.support.files import flip_last_bit
from tests.support.tiny_models import PROVENANCE

UPDATES = (10, 20, 30)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    return tiny_training.prepare(tmp_path_factory.mktemp("prepared"))


@pytest.fixture
def run(prepared, tmp_path):
    """Three checkpoints of random numbers, of which the row averages the last two."""
    experiment = load_catalog(prepared / "catalog").experiment("tiny-transformer")
    for number in UPDATES:
        torch.manual_seed(number)
        save_tensors(
            tmp_path / "checkpoints" / f"{number:08d}.safetensors",
            parameters(build(experiment.model, 300, 300)),
        )
    write_json(tmp_path / "training.json", PROVENANCE["training"] | {"updates": UPDATES[-1]})
    return tmp_path


def arguments(prepared, run, **changes):
    options = {
        "catalog": prepared / "catalog",
        "corpus": "tiny",
        "experiment": "tiny-transformer",
        "checkpoints": run / "checkpoints",
        "training": run / "training.json",
        "subwords": prepared / "subwords",
        "output": run / "model",
    }
    options |= changes
    return [f"--{name}={value}" for name, value in options.items()]


def test_it_is_the_mean_of_the_last(prepared, run, run_script):
    process = run_script("average", *arguments(prepared, run))
    assert (process.returncode, process.stderr) == (0, "")
    averaged = load_file(run / "model" / "model.safetensors")
    second = load_file(run / "checkpoints" / "00000020.safetensors")
    third = load_file(run / "checkpoints" / "00000030.safetensors")
    assert averaged.keys() == second.keys()
    for name, tensor in averaged.items():
        assert tensor.dtype == torch.float32
        torch.testing.assert_close(tensor, (second[name] + third[name]) / 2)
    for name in SUBWORD_FILES:
        assert (run / "model" / name).read_bytes() == (prepared / "subwords" / name).read_bytes()
    configuration = read_json(run / "model" / "configuration.json")
    assert configuration["provenance"] == {
        "checkpoints": ["00000020.safetensors", "00000030.safetensors"],
        "training": read_json(run / "training.json"),
    }
    card = (run / "model" / "README.md").read_text()
    for part in ("# Transformer, en to de", "300 subwords", "4,321", "abc", "License"):
        assert part in card


def test_a_short_training_has_fewer_than_asked_for(prepared, run, run_script):
    for update in (20, 30):
        (run / "checkpoints" / f"{update:08d}.safetensors").unlink()
    write_json(run / "training.json", PROVENANCE["training"] | {"updates": 10})
    process = run_script("average", *arguments(prepared, run))
    assert process.returncode == 0
    assert "1 of 2" in process.stderr
    configuration = read_json(run / "model" / "configuration.json")
    assert configuration["provenance"]["checkpoints"] == ["00000010.safetensors"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"experiment": "tiny-seq2seq"}, "not of this model: decoder.0."),
        ({"experiment": "tiny-seq3seq"}, "tiny-seq2seq"),
        ({"training": "nowhere.json"}, "nowhere.json"),
        ({"subwords": "nowhere"}, "nowhere/source.model"),
    ],
)
def test_what_is_another_or_not_there_is_named(prepared, run, run_failing, changes, named):
    assert named in run_failing("average", *arguments(prepared, run, **changes))
    assert sorted(path.name for path in run.iterdir()) == ["checkpoints", "training.json"]


@pytest.mark.parametrize("name", ["training.json", "checkpoints/00000020.safetensors"])
@pytest.mark.parametrize("damage", [flip_last_bit, Path.unlink])
def test_what_is_damaged_or_deleted_is_named(prepared, run, run_failing, name, damage):
    damage(run / name)
    error = run_failing("average", *arguments(prepared, run))
    assert str((run / name).parent) in error
    assert (run / name).name in error
    assert not (run / "model").exists()
