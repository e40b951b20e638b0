"""Faults that no other test shows; tests/system/faults.py lists all that are."""

import errno
import io
import os
import pickle
import re
import shutil
import signal
import subprocess
import sys
import tarfile

import pytest
import torch

from nmt import files
from nmt.command import explain
from nmt.files import read_json, write_json
from tests.support import tiny_models, tiny_training
from tests.support.killed_trainings import wait_for
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


def average(folder):
    return [
        "average",
        f"--catalog={folder / 'catalog'}",
        "--corpus=tiny",
        "--experiment=tiny-transformer",
        f"--checkpoints={folder / 'run' / 'checkpoints'}",
        f"--training={folder / 'run' / 'training.json'}",
        f"--subwords={folder / 'subwords'}",
        f"--output={folder / 'model'}",
    ]


def flip_last_bit(path):
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


def cut_in_half(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


# ------------------------------------------------------------------------------------------------
# files that were damaged, or are not what they seem


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
def test_a_pickle_instead_of_a_checkpoint_is_not_run(trained, tmp_path, run_failing, write):
    write(trained / "run" / "checkpoints" / "00000020.safetensors", tmp_path / "harm")
    assert "00000020.safetensors is damaged" in run_failing(*average(trained))
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("write", [write_pickle, write_torch_pickle])
def test_a_pickle_instead_of_a_state_is_not_run(trained, tmp_path, run_failing, write):
    (state,) = trained.glob("run/state-*/state.safetensors")
    write(state, tmp_path / "harm")
    error = run_failing("train", *tiny_training.arguments(trained, trained / "run"))
    assert "state.safetensors is damaged" in error
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("damage", [cut_in_half, flip_last_bit])
def test_damaged_weights_are_named(copied_model, run_failing, damage):
    damage(copied_model / "model.safetensors")
    error = run_failing("translate", f"--model={copied_model}", input=SENTENCE)
    assert f"{copied_model}/model.safetensors is damaged" in error
    assert f"delete {copied_model} and run snakemake, or average.py" in error


@pytest.mark.parametrize("name", ["model.safetensors", "source.model", "configuration.json"])
def test_a_file_that_a_model_lacks_is_named(copied_model, run_failing, name):
    (copied_model / name).unlink()
    error = run_failing("translate", f"--model={copied_model}", input=SENTENCE)
    assert name in error


def test_a_flipped_bit_in_a_state_is_noticed(trained, run_failing):
    (state,) = trained.glob("run/state-*/state.safetensors")
    flip_last_bit(state)
    error = run_failing("train", *tiny_training.arguments(trained, trained / "run"))
    assert f"{state} is damaged (its checksum is another)" in error


def test_names_in_an_archive_lead_nowhere(catalog, tmp_path, run_script):
    (tmp_path / "archives").mkdir()
    names = ["../../harm.en", f"{tmp_path}/harm.de"]
    with tarfile.open(tmp_path / "archives" / "text.tgz", "w:gz") as archive:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = 2
            archive.addfile(info, io.BytesIO(b"a\n"))
    part = {"source": f"text.tgz:{names[0]}", "target": f"text.tgz:{names[1]}"}
    corpus = {"title": "Tiny", "source": "en", "target": "de", "license": "none"}
    corpus |= {"archives": {"text.tgz": {"mirror": "text.tgz", "sha256": "0" * 64}}}
    corpus |= {"splits": {"train": [part], "dev": [part]}}
    folder = catalog({"tiny": corpus})
    before = {path for path in tmp_path.parent.rglob("*") if path.is_file()}
    sides = [tmp_path / "raw.en", tmp_path / "raw.de"]
    process = run_script(
        "extract",
        f"--catalog={folder}",
        "--corpus=tiny",
        "--split=train",
        f"--archives={tmp_path / 'archives'}",
        *[f"--{name}={path}" for name, path in zip(("source", "target"), sides, strict=True)],
    )
    assert process.returncode == 0, process.stderr
    assert {path for path in tmp_path.parent.rglob("*") if path.is_file()} - before == set(sides)


# ------------------------------------------------------------------------------------------------
# places to read from and to write to


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("/dev/full", "no disk space left: free some"),
        ("FOLDER/circle", "FOLDER/circle is a link that leads back to itself: delete it, or"),
        ("/proc/nothing/output", "/proc/nothing is not there: check the path"),
        ("FOLDER/text/file", "FOLDER/text is there already, and no folder: choose another path."),
        ("FOLDER/" + 300 * "x", "xxx has too long a name: choose a shorter one."),
        ("FOLDER", "FOLDER is a folder: name a file."),
    ],
)
def test_outputs_that_cannot_be_written(model, tmp_path, run_failing, output, message):
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    (tmp_path / "text").touch()
    output = output.replace("FOLDER", str(tmp_path))
    error = run_failing("translate", f"--model={model}", f"--output={output}", input=SENTENCE)
    assert message.replace("FOLDER", str(tmp_path)) in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["circle", "text"]


def test_a_device_as_output_stays_a_device(model, run_script):
    process = run_script("translate", f"--model={model}", "--output=/dev/null", input=SENTENCE)
    assert process.returncode == 0, process.stderr
    assert os.path.exists("/dev/null")
    assert not os.path.isfile("/dev/null")


def test_an_input_that_is_a_folder_is_named(model, tmp_path, run_failing):
    error = run_failing("translate", f"--model={model}", f"--input={tmp_path}")
    assert error == f"error: {tmp_path} is a folder: name a file.\n"


def translate_command(root, model, *options):
    return [sys.executable, root / "src" / "translate.py", f"--model={model}", *options]


def test_what_standard_output_still_holds_adds_no_message(root):
    script = (
        "from nmt import command\n"
        "from nmt.errors import UserError\n"
        "def main(args):\n"
        "    print('not written yet')\n"
        "    raise UserError('this is wrong.')\n"
        "command.run(main, command.arguments('A script.'))\n"
    )
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            [sys.executable, "-c", script],
            cwd=root / "src",
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert (process.returncode, process.stderr) == (1, "error: this is wrong.\n")


def test_a_full_disk_behind_standard_output_is_one_sentence(model, root):
    with open("/dev/full", "w") as full:
        process = subprocess.run(
            translate_command(root, model),
            input=SENTENCE,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert process.returncode == 1
    assert process.stderr.startswith("error: no disk space left: free some")
    assert process.stderr.count("\n") == 1


def test_a_reader_that_goes_away_ends_it_in_silence(model, root):
    with subprocess.Popen(
        translate_command(root, model),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        process.stdout.close()
        process.stdin.write(SENTENCE)
        process.stdin.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_what_a_killed_script_left_is_removed_by_the_next(model, tmp_path, root, run_script):
    source = tmp_path / "source"
    os.mkfifo(source)
    options = [f"--input={source}", f"--output={tmp_path / 'output'}"]
    process = subprocess.Popen(translate_command(root, model, *options))
    with open(source, "w"):  # when the script has it open, too
        left = tmp_path / f".output.{files.HOST}.{process.pid}.partial"
        wait_for(left.exists)
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert left.exists()
    (tmp_path / "text").write_text(SENTENCE)
    options[0] = f"--input={tmp_path / 'text'}"
    assert run_script("translate", f"--model={model}", *options).returncode == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["output", "source", "text"]


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


# ------------------------------------------------------------------------------------------------
# settings


def test_a_beam_that_does_not_fit_the_memory_is_one_sentence(model, run_failing):
    error = run_failing("translate", f"--model={model}", "--beam=1000000000000000", input=SENTENCE)
    assert error.startswith("error: there is not enough memory for a batch of 1 x ")


def test_what_may_not_be_written_says_what_to_do():
    """As root, who runs tests in containers, may write anything."""
    error = PermissionError(errno.EACCES, "Permission denied", "/there")
    sentence = "/there may not be read or written: change its permissions, or choose another path."
    assert explain(error) == sentence


def test_a_configuration_of_another_model_takes_no_memory(copied_model, run_failing):
    configuration = read_json(copied_model / "configuration.json")
    configuration["experiment"]["model"]["d_hidden"] = 1_000_000
    write_json(copied_model / "configuration.json", configuration)
    error = run_failing("translate", f"--model={copied_model}", input=SENTENCE)
    assert "configuration.json: these weights are not of this model" in error
    assert f"the model's is (3000000, 10): delete {copied_model} and run snakemake" in error


# What a shell would run, in each way of quoting
INJECTION = 'the man\'s "dog" $(touch harm) `touch harm` ; touch harm & \\ {x} *'


def test_a_sentence_that_a_shell_would_run_is_one_argument(tmp_path):
    copy = copy_repository(tmp_path / "a copy; touch harm $(touch harm)")
    reproduction = copy / "tests" / "workflow" / "tiny" / "reproduction.yaml"
    text = reproduction.read_text()
    before = re.search("^attention: .*$", text, re.MULTILINE)[0]
    quoted = INJECTION.replace("'", "''")
    reproduction.write_text(text.replace(before, f"attention: '{quoted}'"))
    rows = copy / "tests" / "workflow" / "tiny" / "experiments" / "tiny.yaml"
    rows.write_text(rows.read_text().replace("title: Ensemble", f"title: '{quoted}'"))
    process = dry_run(copy, "--printshellcmds")
    assert process.returncode == 0, process.stdout
    commands = re.findall(
        r"^Shell command: (python .*attend\.py .*)$", process.stdout, re.MULTILINE
    )
    shell = "python() { printf '%s\\0' \"$@\"; }\n" + "\n".join(commands)
    arguments = subprocess.run(["bash", "-c", shell], cwd=copy, capture_output=True, text=True)
    assert arguments.stdout.split("\0").count(INJECTION) == len(commands) > 2
    assert not list(tmp_path.rglob("harm"))


@pytest.mark.parametrize("name", ["a;b", "$(touch harm)", "../a", "-a", "a b", "a/b"])
def test_a_name_that_a_shell_would_run_is_refused(catalog, run_failing, name):
    corpus = {"title": "T", "source": "en", "target": "de", "license": "none"}
    corpus |= {"generated": {"grammar": "g", "seed": 1, "sizes": {"train": 1, "dev": 1}}}
    folder = catalog({name: corpus})
    error = run_failing(
        "extract",
        f"--catalog={folder}",
        f"--corpus={name}",
        "--split=train",
        "--archives=archives",
        "--source=source",
        "--target=target",
    )
    assert f"{name!r} is no name: take letters, digits" in error
