import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
GRAMMAR = ROOT / "config" / "grammar.yaml"
NAMES = {f"{split}.{language}" for split in ("train", "dev", "test") for language in ("en", "de")}


def generate(output, *, seed=1, sizes=(60, 10, 20), grammar=GRAMMAR, hash_seed="0", extra=()):
    train, dev, test = map(str, sizes)
    command = [
        sys.executable,
        str(ROOT / "src" / "generate.py"),
        "--grammar",
        str(grammar),
        "--seed",
        str(seed),
    ]
    command += ["--train", train, "--dev", dev, "--test", test, "--output", str(output), *extra]
    env = {**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def read(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_six_files_of_the_sizes_asked(tmp_path):
    done = generate(tmp_path / "corpus")
    assert done.returncode == 0, done.stderr
    files = read(tmp_path / "corpus")
    assert files.keys() == NAMES
    sizes = {name: len(text.splitlines()) for name, text in files.items()}
    assert [
        sizes[name] for name in ("train.en", "train.de", "dev.en", "dev.de", "test.en", "test.de")
    ] == [
        60,
        60,
        10,
        10,
        20,
        20,
    ]
    english = [
        line for split in ("train", "dev", "test") for line in files[f"{split}.en"].splitlines()
    ]
    assert len(set(english)) == len(english)


def test_only_the_seed_decides(tmp_path):
    generate(tmp_path / "a", hash_seed="1")
    generate(tmp_path / "b", hash_seed="2")
    generate(tmp_path / "c", seed=2)
    assert read(tmp_path / "a") == read(tmp_path / "b")
    assert read(tmp_path / "a") != read(tmp_path / "c")


def test_the_other_direction(tmp_path):
    done = generate(tmp_path, extra=("--source-language", "de", "--target-language", "en"))
    assert done.returncode == 0, done.stderr
    assert read(tmp_path).keys() == NAMES


def test_what_is_wrong_is_one_sentence(tmp_path):
    done = generate(tmp_path / "out", grammar=tmp_path / "none.yaml")
    assert done.returncode == 1
    assert "none.yaml is not there" in done.stderr
    assert "Traceback" not in done.stderr
    done = generate(tmp_path / "out", extra=("--target-language", "fr"))
    assert done.returncode == 1
    assert "no language 'fr'" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_number_below_nothing_is_a_bad_argument(tmp_path):
    for wrong in ({"sizes": (-1, 1, 1)}, {"sizes": (0, 1, 1)}, {"seed": -1}, {"seed": 2**32}):
        assert generate(tmp_path, **wrong).returncode == 2
