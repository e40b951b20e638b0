"""generate.py through its command line."""

import pytest

from tests.support.files import ROOT

GRAMMAR = ROOT / "config" / "grammar.yaml"


@pytest.fixture
def generate(run_script):
    """Return generate(FOLDER, **changes), which runs the script and returns the process."""

    def run(output, *extra, run=run_script, env=None, **changes):
        options = {"grammar": GRAMMAR, "seed": 1, "train": 60, "dev": 10, "test": 20}
        named = [f"--{name}={value}" for name, value in (options | changes).items()]
        return run("generate", *named, f"--output={output}", *extra, env=env)

    return run


def read(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_the_six_files_have_the_sizes_asked_for(generate, tmp_path):
    result = generate(tmp_path / "corpus")
    assert result.returncode == 0, result.stderr
    files = read(tmp_path / "corpus")
    sizes = {"train": 60, "dev": 10, "test": 20}
    assert {name: text.count("\n") for name, text in files.items()} == {
        f"{split}.{language}": size for split, size in sizes.items() for language in ("en", "de")
    }


def test_the_text_depends_only_on_the_seed(generate, start_script, tmp_path):
    generate(tmp_path / "a", run=start_script, env={"PYTHONHASHSEED": "1"})
    generate(tmp_path / "b", run=start_script, env={"PYTHONHASHSEED": "2"})
    generate(tmp_path / "c", seed=2)
    assert read(tmp_path / "a") == read(tmp_path / "b")
    assert read(tmp_path / "a") != read(tmp_path / "c")


def test_errors_are_one_sentence(generate, tmp_path):
    result = generate(tmp_path / "out", grammar=tmp_path / "none.yaml")
    assert result.returncode == 1
    assert "none.yaml is not there" in result.stderr
    result = generate(tmp_path / "out", "--target-language=fr")
    assert result.returncode == 1
    assert "'fr'" in result.stderr
    assert not (tmp_path / "out").exists()
