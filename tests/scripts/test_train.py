"""train.py through its command line; tests/system holds what interruptions do."""

import json
import os
import shutil
import signal
import subprocess
import sys

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from nmt.files import read_json, write_json
from nmt.models.weights import load_tensors
from nmt.training.metrics import read_metrics
from tests.support.files import SOURCE
from tests.support.killed_trainings import contents, last_update, wait_for
from tests.support.scripts import run_program
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
    dev = (folder / "dev.en").read_text().splitlines()
    assert made["example"] in dev
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["update"] for line in lines if "loss" in line] == [20, 40]
    assert [line["update"] for line in lines if "dev_perplexity" in line] == [10, 20, 30, 40]
    assert [line["update"] for line in lines if "dev_bleu" in line] == [20, 40]
    dev = [line["dev_nll"] for line in lines if "dev_nll" in line]
    assert dev[-1] < dev[0]
    last = [line for line in lines if "loss" in line][-1]
    assert made["target_tokens"] == last["target_tokens"]
    assert 0 < last["mfu"] < 1
    assert last["memory"] > 1e8
    (board,) = run.glob("state-*/tensorboard")
    events = EventAccumulator(str(board)).Reload()
    for name in ("loss", "dev_perplexity", "learning_rate"):
        shown = [(event.step, event.value) for event in events.Scalars(name)]
        written = [
            (line["update"], pytest.approx(line[name], rel=1e-6)) for line in lines if name in line
        ]
        assert shown == written


# Runs a script with a made-up peak of the machine, which takes long to measure in half precision.
UNMEASURED = """
import runpy, sys
from nmt.training import machine

machine.matrix_product_rate = lambda *_: 1e9
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_learns_nearly_the_same(folder, precision):
    (folder / "unmeasured.py").write_text(UNMEASURED)
    results = {}
    for name in ("float32", precision):
        change(folder, "tiny", precision=name)
        train = [SOURCE / "train.py", *arguments(folder, folder / name)]
        process = run_program([folder / "unmeasured.py", *train])
        assert process.returncode == 0, process.stderr
        metrics = read_metrics(folder / name / "metrics.jsonl")
        assert metrics[-2]["skipped"] <= 2
        results[name] = metrics[-1]["dev_nll"]
    assert results[precision] == pytest.approx(results["float32"], rel=0.01)


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


def test_another_seed_is_another_training(folder, run_script):
    for seed in (1, 2):
        assert (
            run_script("train", *arguments(folder, folder / f"run-{seed}", seed=seed)).returncode
            == 0
        )
    weights = [
        load_tensors(folder / f"run-{seed}" / "checkpoints" / "00000040.safetensors")[0]
        for seed in (1, 2)
    ]
    assert not any(
        torch.equal(weights[0][name], weights[1][name]) for name in weights[0] if "weight" in name
    )


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


@pytest.mark.parametrize("tokens", ["tokens-train", "tokens-dev"])
def test_damaged_tokens_and_those_of_another_vocabulary_are_named(folder, run_failing, tokens):
    meta = folder / tokens / "meta.json"
    for damage in ({"vocabularies": ["", ""]}, {"fingerprint": ""}):
        write_json(meta, read_json(meta) | damage)
        assert str(folder / tokens) in run_failing("train", *arguments(folder, folder / "run"))
        assert not list(folder.glob("run/state-*/*"))


def test_a_training_that_diverges_says_so_last(folder, run_script):
    change(folder, "tiny", peak_learning_rate=1000)
    run = folder / "run"
    for _ in range(2):  # the second call has nothing left to do
        process = run_script("train", *arguments(folder, run))
        assert process.returncode == 0
        assert "diverged" in process.stderr.splitlines()[-1]
        assert read_json(run / "training.json")["diverged"] is True


def test_a_folder_that_is_deleted_meanwhile_is_one_sentence(folder, root):
    change(folder, "tiny", updates=1500, interval=1500, bleu_interval=1500)
    run = folder / "run"
    with subprocess.Popen(
        [sys.executable, root / "src" / "train.py", *arguments(folder, run)],
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        wait_for(lambda: last_update(run) >= 20 or process.poll() is not None)
        (state,) = run.glob("state-*")
        shutil.rmtree(state, ignore_errors=True)
        error = process.stderr.read()
    assert process.returncode == 1
    assert "error: " in error
    assert f"{state}/" in error


def test_the_state_of_another_configuration_is_refused(folder, run_script, run_failing):
    run = folder / "run"
    assert run_script("train", *arguments(folder, run)).returncode == 0
    change(folder, "tiny-transformer", label_smoothing=0.2)
    other = folder / "other"
    assert run_script("train", *arguments(folder, other)).returncode == 0
    (old,), (new,) = run.glob("state-*"), other.glob("state-*")
    assert old.name != new.name
    shutil.copy(old / "state.safetensors", new / "state.safetensors")
    assert str(new) in run_failing("train", *arguments(folder, other))


@pytest.mark.parametrize("name", ["state.safetensors", "metrics.jsonl", "settings.json"])
def test_a_damaged_file_is_named_and_without_it_training_goes_on(folder, run_script, name):
    run = folder / "run"
    assert run_script("train", *arguments(folder, run)).returncode == 0
    expected = contents(run)
    (path,) = run.glob(f"state-*/{name}")
    path.write_bytes(b"\xff\n" * 3)
    failed = run_script("train", *arguments(folder, run))
    assert failed.returncode == 1
    assert f"error: {path} is" in failed.stderr
    path.unlink()
    assert run_script("train", *arguments(folder, run)).returncode == 0
    assert path.exists()
    if name != "metrics.jsonl":
        assert contents(run) == expected


def test_a_full_disk_costs_nothing_that_was_saved(folder, root, run_script):
    """A limit on the size of files stands for the full disk: writing a checkpoint fails in the same
    way.
    """
    change(folder, "tiny", updates=160)  # time for the signal
    whole, run = folder / "whole", folder / "run"
    assert run_script("train", *arguments(folder, whole)).returncode == 0

    with subprocess.Popen(
        [sys.executable, root / "src" / "train.py", *arguments(folder, run)],
        stderr=subprocess.DEVNULL,
    ) as process:
        wait_for(lambda: last_update(run) >= 20 or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
    assert process.returncode == 75
    (state,) = run.glob("state-*/state.safetensors")
    before = state.read_bytes()

    failed = run_script("train", *arguments(folder, run), largest_file=4096)
    assert failed.returncode == 1
    assert failed.stderr.splitlines()[-1].startswith("error: ")
    assert state.read_bytes() == before
    assert not list(run.rglob(".*.partial"))

    assert run_script("train", *arguments(folder, run)).returncode == 0
    assert contents(run) == contents(whole)
    assert os.path.samefile(
        next(run.glob("state-*/checkpoints/*160.*")), next(run.glob("checkpoints/*160.*"))
    )
