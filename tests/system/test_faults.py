"""Damaged and harmful files, names and sentences, as scripts and shells meet them."""

import os
import pickle
import re
import shutil
import subprocess

import pytest
import torch

from nmt.configuration import load_catalog
from nmt.errors import UserError
from tests.support import tiny_models, tiny_training
from tests.support.files import flip_last_bit
from tests.support.workflows import copy_repository, dry_run

SENTENCE = "a man sits on a bench .\n"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return tiny_models.make_model(tmp_path_factory.mktemp("model"), "rnnsearch")


@pytest.fixture
def copied_model(model, tmp_path):
    return shutil.copytree(model, tmp_path / "model")


@pytest.fixture(scope="module")
def trained_once(tmp_path_factory, run_script):
    folder = tiny_training.prepare(tmp_path_factory.mktemp("trained"))
    process = run_script("train", *tiny_training.arguments(folder, folder / "run"))
    assert process.returncode == 0, process.stderr
    return folder


@pytest.fixture
def trained(trained_once, tmp_path):
    """The folder of a finished tiny training, whose results are in its folder `run`."""
    return shutil.copytree(trained_once, tmp_path / "trained")


class Harm:
    """An object that runs a command when it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return os.system, (f"touch '{self.file}'",)


def write_pickle(path, harm):
    path.write_bytes(pickle.dumps(Harm(harm)))


def write_torch_pickle(path, harm):
    torch.save({"weights": Harm(harm)}, path)


@pytest.mark.parametrize("write", [write_pickle, write_torch_pickle])
def test_a_pickle_instead_of_a_model_is_not_run(copied_model, tmp_path, run_failing, write):
    write(copied_model / "model.safetensors", tmp_path / "harm")
    error = run_failing("translate", f"--model={copied_model}", input=SENTENCE)
    assert f"{copied_model}/model.safetensors is damaged" in error
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("write", [write_pickle, write_torch_pickle])
def test_a_pickle_instead_of_a_state_is_not_run(trained, tmp_path, run_failing, write):
    (state,) = trained.glob("run/state-*/state.safetensors")
    write(state, tmp_path / "harm")
    error = run_failing("train", *tiny_training.arguments(trained, trained / "run"))
    assert "state.safetensors is damaged" in error
    assert not (tmp_path / "harm").exists()


def test_a_flipped_bit_in_a_state_is_noticed(trained, run_failing):
    (state,) = trained.glob("run/state-*/state.safetensors")
    flip_last_bit(state)
    error = run_failing("train", *tiny_training.arguments(trained, trained / "run"))
    assert f"{state} is damaged" in error


def test_a_device_as_output_stays_a_device(model, run_script):
    process = run_script("translate", f"--model={model}", "--output=/dev/null", input=SENTENCE)
    assert process.returncode == 0, process.stderr
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")


def test_text_is_utf8_in_every_locale(copied_model, start_script, tmp_path):
    (tmp_path / "text").write_text("ein Männlein\n", encoding="utf-8")
    options = [f"--input={tmp_path / 'text'}", f"--forced={tmp_path / 'text'}"]
    output = tmp_path / "output"
    process = start_script(
        "translate",
        f"--model={copied_model}",
        *options,
        f"--output={output}",
        env={"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )
    assert process.returncode == 0, process.stderr
    output.read_text(encoding="utf-8")


# What a shell would run, in each way of quoting
INJECTION = 'the man\'s "dog" $(touch harm) `touch harm` ; touch harm & \\ {x} *'


def test_a_sentence_that_a_shell_would_run_is_one_argument(tmp_path):
    copy = copy_repository(tmp_path / "a copy; touch harm $(touch harm)")
    reproduction = copy / "tests" / "workflow" / "tiny" / "reproduction.yaml"
    text = reproduction.read_text()
    before = re.search("^attention: .*$", text, re.MULTILINE)[0]
    quoted = INJECTION.replace("'", "''")
    text = text.replace(before, f"attention: '{quoted}'")
    reproduction.write_text(text.replace("title: Ensemble", f"title: '{quoted}'"))
    process = dry_run(copy, "--printshellcmds")
    assert process.returncode == 0, process.stdout
    commands = re.findall(
        r"^Shell command: (python .*attend\.py .*) 2>> .*$", process.stdout, re.MULTILINE
    )
    shell = "python() { printf '%s\\0' \"$@\"; }\n" + "\n".join(commands)
    arguments = subprocess.run(["bash", "-c", shell], cwd=copy, capture_output=True, text=True)
    assert arguments.stdout.split("\0").count(INJECTION) == len(commands) > 2
    assert not list(tmp_path.rglob("harm"))


@pytest.mark.parametrize("name", ["a;b", "$(touch harm)", "../a", "-a", "a b", "a/b"])
def test_a_name_that_a_shell_would_run_is_refused(catalog, name):
    corpus = {"title": "T", "source": "en", "target": "de", "license": "none"}
    corpus |= {"generated": {"grammar": "g", "seed": 1, "sizes": {"train": 1, "dev": 1}}}
    with pytest.raises(UserError, match=re.escape(name)):
        load_catalog(catalog({name: corpus}))
