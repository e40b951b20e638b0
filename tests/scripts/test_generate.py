"""generate.py through its command line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GRAMMAR = ROOT / "config" / "grammar.yaml"
NAMES = {f"{split}.{language}" for split in ("train", "dev", "test") for language in ("en", "de")}


def generate(output, *, seed=1, sizes=(60, 10, 20), grammar=GRAMMAR, hash_seed="0", extra=()):
    train, dev, test = sizes
    command = [
        sys.executable,
        str(ROOT / "src" / "generate.py"),
        f"--grammar={grammar}",
        f"--seed={seed}",
        f"--train={train}",
        f"--dev={dev}",
        f"--test={test}",
        f"--output={output}",
        *extra,
    ]
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def read(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_the_six_files_have_the_sizes_asked_for(tmp_path):
    result = generate(tmp_path / "corpus")
    assert result.returncode == 0, result.stderr
    files = read(tmp_path / "corpus")
    assert {name: len(text.splitlines()) for name, text in files.items()} == {
        "train.en": 60,
        "train.de": 60,
        "dev.en": 10,
        "dev.de": 10,
        "test.en": 20,
        "test.de": 20,
    }
    english = []
    for split in ("train", "dev", "test"):
        english += files[f"{split}.en"].splitlines()
    assert len(set(english)) == len(english)


def test_the_text_depends_only_on_the_seed(tmp_path):
    generate(tmp_path / "a", hash_seed="1")
    generate(tmp_path / "b", hash_seed="2")
    generate(tmp_path / "c", seed=2)
    assert read(tmp_path / "a") == read(tmp_path / "b")
    assert read(tmp_path / "a") != read(tmp_path / "c")


def test_the_other_direction(tmp_path):
    result = generate(tmp_path, extra=("--source-language=de", "--target-language=en"))
    assert result.returncode == 0, result.stderr
    assert read(tmp_path).keys() == NAMES


def test_errors_are_one_sentence(tmp_path):
    result = generate(tmp_path / "out", grammar=tmp_path / "none.yaml")
    assert result.returncode == 1
    assert "none.yaml is not there" in result.stderr
    assert "Traceback" not in result.stderr
    result = generate(tmp_path / "out", extra=("--target-language=fr",))
    assert result.returncode == 1
    assert "no language 'fr'" in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "arguments", [{"sizes": (-1, 1, 1)}, {"sizes": (0, 1, 1)}, {"seed": -1}, {"seed": 2**32}]
)
def test_a_number_out_of_range_is_a_bad_argument(tmp_path, arguments):
    assert generate(tmp_path, **arguments).returncode == 2
