"""generate.py through its command line."""

import pytest

from tests.support.files import ROOT

GRAMMAR = ROOT / "config" / "grammar.yaml"


@pytest.fixture
def generate(run_script, catalog):
    """Return generate(FOLDER, **changes), which runs the script and returns the process."""
    corpora = {}
    corpus = {"title": "Demo", "source": "en", "license": "free"}
    generated = {"grammar": str(GRAMMAR), "sizes": {"train": 60, "dev": 10, "test": 20}}
    for name, target, changes in [
        ("demo", "de", {"seed": 1}),
        ("other", "de", {"seed": 2}),
        ("french", "fr", {"seed": 1}),
        ("lost", "de", {"seed": 1, "grammar": "none.yaml"}),
    ]:
        corpora[name] = corpus | {"target": target, "generated": generated | changes}
    folder = catalog(corpora)

    def run(output, corpus="demo", run=run_script, env=None):
        options = {"catalog": folder, "corpus": corpus, "output": output}
        return run("generate", *(f"--{name}={value}" for name, value in options.items()), env=env)

    return run


def read(folder):
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_the_text_depends_only_on_the_seed(generate, start_script, tmp_path):
    generate(tmp_path / "a", run=start_script, env={"PYTHONHASHSEED": "1"})
    generate(tmp_path / "b", run=start_script, env={"PYTHONHASHSEED": "2"})
    generate(tmp_path / "c", "other")
    assert read(tmp_path / "a") == read(tmp_path / "b")
    assert read(tmp_path / "a") != read(tmp_path / "c")


def test_errors_are_one_sentence(generate, tmp_path):
    for corpus, named in {"lost": "none.yaml is not there", "french": "'fr'"}.items():
        result = generate(tmp_path / "out", corpus)
        assert result.returncode == 1
        assert named in result.stderr
    assert not (tmp_path / "out").exists()
