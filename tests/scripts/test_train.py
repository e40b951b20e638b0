"""train.py through its command line; tests/system holds what interruptions do."""

import json
import os
import shutil

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nmt.configuration import load_catalog
from nmt.files import checksum, read_json
from nmt.models.build import build
from nmt.models.weights import load_tensors, parameters
from nmt.serving.folder import save_model
from tests.support.files import flip_last_bit
from tests.support.killed_trainings import contents
from tests.support.tiny_models import PROVENANCE
from tests.support.tiny_training import ROWS, arguments, change, prepare


@pytest.fixture
def folder(tmp_path):
    return prepare(tmp_path, updates=40, interval=10, bleu_interval=20)


@pytest.mark.parametrize("row", ROWS)
def test_it_trains_and_says_what_it_did(folder, run_script, row):
    run = folder / "run"
    process = run_script("train", *arguments(folder, run, experiment=row))
    assert process.returncode == 0, process.stderr
    assert [path.name for path in sorted((run / "checkpoints").iterdir())] == [
        "00000030.safetensors",
        "00000040.safetensors",
        "best-00000040.safetensors",
    ]
    made = read_json(run / "training.json")
    parameters, _ = load_tensors(run / "checkpoints" / "00000040.safetensors")
    assert made["parameters"] == sum(tensor.numel() for tensor in parameters.values())
    assert made["updates"] == made["settings"]["training"]["updates"] == 40
    assert made["seconds"] > 0
    assert made["diverged"] is False
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines if "loss" in line] == [20, 40]
    assert [line["update"] for line in lines if "dev_perplexity" in line] == [10, 20, 30, 40]
    for key in ("dev_bleu", "training_bleu"):
        assert [line["update"] for line in lines if key in line] == [20, 40]
    dev = [line["dev_nll"] for line in lines if "dev_nll" in line]
    assert dev[-1] < dev[0]
    last = [line for line in lines if "loss" in line][-1]
    assert made["target_tokens"] == last["target_tokens"]
    assert 0 < last["mfu"] < 1
    events = EventAccumulator(str(run / "tensorboard")).Reload()
    for name in ("loss", "dev_perplexity", "learning_rate"):
        shown = [(event.step, event.value) for event in events.Scalars(name)]
        written = [
            (line["update"], pytest.approx(line[name], rel=1e-6)) for line in lines if name in line
        ]
        assert shown == written


def test_a_finished_training_is_not_done_again(folder, run_script):
    run = folder / "run"
    assert run_script("train", *arguments(folder, run)).returncode == 0
    before = contents(run)
    shutil.rmtree(run / "checkpoints")  # as snakemake deletes outputs before it starts a job
    (run / "training.json").unlink()
    again = run_script("train", *arguments(folder, run))
    assert "going on from update 40" in again.stderr
    assert contents(run) == before


def test_checkpoints_of_a_state_that_was_lost_are_not_averaged(folder, run_script):
    run = folder / "run"
    assert run_script("train", *arguments(folder, run)).returncode == 0
    (state,) = run.glob("state-*/state.safetensors")
    expected = contents(run)
    for file in (state, run / "training.json"):
        file.unlink()
    for kept in state.parent.glob("checkpoints/*.safetensors"):
        kept.rename(kept.with_name(kept.name.replace("000000", "999999")))
    assert run_script("train", *arguments(folder, run)).returncode == 0
    assert contents(run) == expected


def test_it_may_start_from_the_weights_of_a_model(folder, run_script, run_failing):
    catalog = load_catalog(folder / "catalog")
    experiment = catalog.experiment("tiny-transformer")
    vocabulary, corpus = catalog.vocabulary(experiment.vocabulary), catalog.corpus("tiny")
    weights = parameters(build(experiment.model, 300, 300))
    settings = (experiment, vocabulary, corpus, PROVENANCE)
    save_model(folder / "a model", weights, folder / "subwords", *settings)
    # A rate that changes nothing, and another dropout, which is not of the architecture
    change(folder, "tiny", peak_learning_rate=1e-12, dropout=0.2)
    change(folder, "wide", base="tiny-transformer", title="Wide", heads=1)
    options = arguments(folder, folder / "run", initialize_from=folder / "a model")
    assert run_script("train", *options).returncode == 0
    trained, _ = load_tensors(folder / "run" / "checkpoints" / "00000040.safetensors")
    for name, tensor in trained.items():
        torch.testing.assert_close(tensor, weights[name])
    made_from = read_json(folder / "run" / "training.json")["settings"]["initialize_from"]
    assert made_from == checksum(folder / "a model" / "model.safetensors")
    assert "heads" in run_failing("train", *options, "--experiment=wide")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"experiment": "tiny-transfomer"}, "did you mean 'tiny-transformer'?"),
        ({"corpus": "tyni"}, "did you mean 'tiny'?"),
        ({"tokens": "nowhere"}, "nowhere/meta.json is not there."),
        ({"dev_reference": "nowhere.de"}, "nowhere.de is not there."),
        ({"subwords": "nowhere"}, "nowhere/source.model is not there"),
        ({"dev_reference": os.devnull}, f"{os.devnull} has 0 lines"),
        ({"experiment": "tiny-too-small"}, "does not fit batch_tokens 10"),
    ],
)
def test_what_cannot_begin(folder, run_failing, changes, message):
    change(folder, "tiny-too-small", base="tiny-transformer", title="Small", batch_tokens=10)
    assert message in run_failing("train", *arguments(folder, folder / "run", **changes))
    assert not list(folder.glob("run/state-*/*"))


def test_a_training_that_diverges_says_so_last(folder, run_script):
    change(folder, "tiny", peak_learning_rate=1000)
    run = folder / "run"
    for _ in range(2):  # the second call has nothing left to do
        process = run_script("train", *arguments(folder, run))
        assert process.returncode == 0
        assert "diverged" in process.stderr.splitlines()[-1]
        assert read_json(run / "training.json")["diverged"] is True


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("state.safetensors", flip_last_bit),
        ("metrics.jsonl", lambda path: path.write_bytes(b"\xff\n" * 3)),
    ],
)
def test_a_damaged_file_is_named_and_without_it_training_goes_on(folder, run_script, name, damage):
    run = folder / "run"
    assert run_script("train", *arguments(folder, run)).returncode == 0
    expected = contents(run)
    (path,) = run.glob(f"state-*/{name}")
    damage(path)
    failed = run_script("train", *arguments(folder, run))
    assert failed.returncode == 1
    assert f"error: {path} is" in failed.stderr
    path.unlink()
    assert run_script("train", *arguments(folder, run)).returncode == 0
    assert path.exists()
    if name != "metrics.jsonl":
        assert contents(run) == expected


def test_a_full_disk_is_one_sentence_and_leaves_nothing(folder, run_script):
    """A limit on the size of files stands for it: writing a checkpoint fails in the same way."""
    run = folder / "run"
    process = run_script("train", *arguments(folder, run), largest_file=4096)
    assert process.returncode == 1
    assert process.stderr.splitlines()[-1].startswith("error: ")
    assert not list(run.rglob(".*.partial"))
    assert not list(run.rglob("*.safetensors"))
