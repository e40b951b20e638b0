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
from tests.support.files import SOURCE
from tests.support.killed_trainings import contents, last_update, wait_for
from tests.support.scripts import run_program
from tests.support.tiny_training import ROWS, arguments, change, prepare


@pytest.fixture
def folder(tmp_path):
    return prepare(tmp_path, updates=40, interval=10, bleu_interval=20)


def test_help_names_the_exit_code_of_an_interrupted_training(run_script):
    process = run_script("train", "--help")
    assert "exit code 75" in " ".join(process.stdout.split())


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
    assert 0 < last["padding"] < 0.3
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
        results[name] = read_json(folder / name / "training.json")
    half_nll = results[precision]["best_dev_nll"]
    assert half_nll == pytest.approx(results["float32"]["best_dev_nll"], rel=0.01)
    assert results[precision]["skipped_updates"] <= 2


# Runs a script and prints, when it ends, whether torch was deterministic.
WATCHED = """
import atexit, runpy, sys, torch

atexit.register(lambda: print(torch.are_deterministic_algorithms_enabled()))
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def test_deterministic_algorithms_alone(folder):
    (folder / "watched.py").write_text(WATCHED)
    results = {}
    for deterministic in (False, True):
        change(folder, "tiny", deterministic=deterministic)
        run = folder / str(deterministic)
        train = [SOURCE / "train.py", *arguments(folder, run)]
        process = run_program([folder / "watched.py", *train])
        assert (process.returncode, process.stdout) == (0, f"{deterministic}\n"), process.stderr
        results[deterministic] = contents(run)
    same = {name for name in results[True] if results[True][name] == results[False].get(name)}
    assert same >= {
        "checkpoints/00000030.safetensors",
        "checkpoints/00000040.safetensors",
        "metrics.jsonl",
    }


def test_a_loss_that_stays_flat_is_pointed_out(folder, run_script):
    change(folder, "tiny", peak_learning_rate=1e-9)
    process = run_script("train", *arguments(folder, folder / "run"))
    assert (
        "is still that of a model that knows nothing but how frequent subwords are"
        in process.stderr
    )


def test_a_disk_without_room_is_refused_at_the_start(folder, run_failing):
    change(folder, "tiny", average=10**15)
    error = run_failing("train", *arguments(folder, folder / "run"))
    assert "training takes up to" in error
    assert "GB are free there: make room." in error


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
        (
            {"experiment": "tiny-transfomer"},
            "unknown experiment 'tiny-transfomer': did you mean 'tiny-transformer'?",
        ),
        ({"corpus": "tyni"}, "unknown corpus 'tyni': did you mean 'tiny'?"),
        ({"tokens": "nowhere"}, "nowhere/meta.json is not there."),
        ({"dev_reference": "nowhere.de"}, "nowhere.de is not there."),
        ({"subwords": "nowhere"}, "nowhere/source.model is not there"),
        ({"catalog": "nowhere"}, "nowhere/corpora.yaml is not there."),
        ({"dev_reference": os.devnull}, f"{os.devnull} has 0 lines"),
        ({"experiment": "tiny-too-wide"}, "choose a smaller experiment or a larger machine."),
    ],
)
def test_what_cannot_begin(folder, run_failing, changes, message):
    change(
        folder,
        "tiny-too-wide",
        base="tiny-transformer",
        title="Wide",
        layers=1000,
        d_model=4096,
        d_ff=10**6,
    )
    assert message in run_failing("train", *arguments(folder, folder / "run", **changes))
    assert not list(folder.glob("run/state-*/*"))


@pytest.mark.parametrize("tokens", ["tokens-train", "tokens-dev"])
def test_damaged_tokens_are_named(folder, run_failing, tokens):
    path = folder / tokens / "source.npy"
    path.write_bytes(path.read_bytes()[:-2] + b"\xff\xff")
    error = run_failing("train", *arguments(folder, folder / "run"))
    message = f"{folder / tokens} is damaged (its checksum is another): delete {folder / tokens}"
    assert message in error
    assert not list(folder.glob("run/state-*/*"))


@pytest.mark.parametrize("tokens", ["tokens-train", "tokens-dev"])
def test_tokens_of_another_vocabulary_are_refused(folder, run_failing, tokens):
    meta = folder / tokens / "meta.json"
    write_json(meta, read_json(meta) | {"vocabulary_sizes": [400, 300]})
    error = run_failing("train", *arguments(folder, folder / "run"))
    assert f"{folder / tokens} was made with vocabularies of [400, 300] subwords, not of" in error
    write_json(meta, read_json(meta) | {"vocabulary_sizes": [300, 300], "vocabularies": ["", ""]})
    error = run_failing("train", *arguments(folder, folder / "run"))
    assert f"{folder / tokens} was made with other vocabularies of the same sizes: bin" in error


def test_a_training_that_diverges_says_so_last(folder, run_script):
    change(folder, "tiny", peak_learning_rate=1000)
    run = folder / "run"
    for _ in range(2):  # the second call has nothing left to do
        process = run_script("train", *arguments(folder, run))
        assert process.returncode == 0
        last = process.stderr.splitlines()[-1]
        assert last.startswith("the training has diverged: its last dev perplexity, ")
        assert "guessing among the 300 subwords. Try a lower learning rate" in last
        assert read_json(run / "training.json")["diverged"] is True


def test_a_folder_that_is_deleted_meanwhile_is_one_sentence(folder, root, record_property):
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
    # Progress may stand before it: the folder is noticed when one of its files is next opened.
    said = [line for line in error.splitlines() if not line.startswith(("training: ", "update "))]
    assert len(said) == 1
    assert said[0].startswith("error: No such file or directory")
    assert f"{state}/" in said[0]
    record_property("printed", said[0])


def test_too_small_a_batch(folder, run_failing):
    change(folder, "tiny", batch_tokens=10)
    assert "does not fit batch_tokens 10: raise it." in run_failing(
        "train", *arguments(folder, folder / "run")
    )


def test_the_state_of_another_configuration_is_refused(folder, run_script, run_failing):
    run = folder / "run"
    assert run_script("train", *arguments(folder, run)).returncode == 0
    change(folder, "tiny-transformer", label_smoothing=0.2)
    other = folder / "other"
    assert run_script("train", *arguments(folder, other)).returncode == 0
    (old,), (new,) = run.glob("state-*"), other.glob("state-*")
    assert old.name != new.name
    shutil.copy(old / "state.safetensors", new / "state.safetensors")
    error = run_failing("train", *arguments(folder, other))
    assert "belongs to another configuration or other data" in error


def test_a_damaged_state_is_named(folder, run_script, run_failing):
    run = folder / "run"
    assert run_script("train", *arguments(folder, run)).returncode == 0
    (state,) = run.glob("state-*/state.safetensors")
    state.write_bytes(state.read_bytes()[:1000])
    error = run_failing("train", *arguments(folder, run))
    assert f"{state} is damaged" in error
    remedy = (
        f"put a copy of it there, or delete {state.parent} to train again from the first update"
    )
    assert error.endswith(f": {remedy}.\n")

    expected = contents(run)
    shutil.rmtree(state.parent)
    assert run_script("train", *arguments(folder, run)).returncode == 0
    assert contents(run) == expected


def test_what_is_said_of_damaged_and_missing_checkpoints_brings_them_back(
    folder, run_script, run_failing
):
    run = folder / "run"
    average = [
        f"--{option}"
        for option in (
            f"catalog={folder / 'catalog'}",
            "corpus=tiny",
            "experiment=tiny-transformer",
            f"checkpoints={run / 'checkpoints'}",
            f"training={run / 'training.json'}",
            f"subwords={folder / 'subwords'}",
            f"output={folder / 'model'}",
        )
    ]
    assert run_script("train", *arguments(folder, run)).returncode == 0
    expected = contents(run)
    checkpoint = run / "checkpoints" / "00000030.safetensors"

    checkpoint.unlink()
    share = ["share_training", f"--run={run}", f"--output={folder / 'shared'}"]
    assert f"delete {checkpoint.parent} and run snakemake" in run_failing(*share)
    assert not (folder / "shared").exists()
    error = run_failing("average", *average)
    assert f"delete {checkpoint.parent} and run snakemake, or train.py, which take them" in error
    shutil.rmtree(checkpoint.parent)
    process = run_script("train", *arguments(folder, run))
    assert "going on from update 40" in process.stderr
    assert contents(run) == expected

    with open(checkpoint, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        last = file.read()[0]
        file.seek(-1, os.SEEK_END)
        file.write(bytes([last ^ 1]))
    error = run_failing("average", *average)
    assert "delete the folder of the run that was trained and train again from the first" in error
    run_script("train", *arguments(folder, run))
    assert contents(run) != expected  # the state has the same file
    shutil.rmtree(run)
    assert run_script("train", *arguments(folder, run)).returncode == 0
    assert contents(run) == expected
    assert run_script("average", *average).returncode == 0


@pytest.mark.parametrize(
    ("name", "content"),
    [("metrics.jsonl", b"\xff\n" * 3), ("settings.json", b"{}"), ("settings.json", b"\xff")],
)
def test_a_damaged_log_or_settings_are_named(folder, run_script, name, content):
    run = folder / "run"
    assert run_script("train", *arguments(folder, run)).returncode == 0
    (path,) = run.glob(f"state-*/{name}")
    whole = path.read_bytes()
    path.write_bytes(content)
    failed = run_script("train", *arguments(folder, run))
    assert failed.returncode == 1
    error = failed.stderr.splitlines()[-1]
    assert error.startswith(f"error: {path} is ")
    assert "delete it: " in error
    assert path.read_bytes() == content
    path.unlink()
    assert run_script("train", *arguments(folder, run)).returncode == 0
    assert path.exists()
    if name == "settings.json":
        assert path.read_bytes() == whole


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
    assert failed.stderr.splitlines()[-1].startswith("error: File too large: ")
    assert "Traceback" not in failed.stderr
    assert state.read_bytes() == before
    assert not list(run.rglob(".*.partial"))

    assert run_script("train", *arguments(folder, run)).returncode == 0
    assert contents(run) == contents(whole)
    assert os.path.samefile(
        next(run.glob("state-*/checkpoints/*160.*")), next(run.glob("checkpoints/*160.*"))
    )
