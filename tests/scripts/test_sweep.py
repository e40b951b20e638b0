"""sweep.py through its command line."""

import pytest

from nmt.files import read_json
from tests.support import tiny_models


@pytest.fixture
def folder(tmp_path):
    tiny_models.make_model(tmp_path, "transformer")
    return tmp_path


def arguments(folder, **changes):
    options = {
        "model": folder / "transformer",
        "source": folder / "text.en",
        "references": folder / "text.de",
        "output": folder / "sweep.json",
    }
    options |= changes
    named = [f"--{name}={value}" for name, value in options.items()]
    return ["sweep", *named]


def test_each_setting_is_scored(folder, run_script):
    process = run_script(*arguments(folder))
    assert process.returncode == 0, process.stderr
    sweep = read_json(folder / "sweep.json")
    assert {(1, 0.6), (4, 0.6)} < {(point["beam"], point["alpha"]) for point in sweep["beam"]}
    assert {(4, 0), (4, 0.6)} < {(point["beam"], point["alpha"]) for point in sweep["alpha"]}
    # A larger exponent favors longer translations.
    lengths = [point["length"] for point in sweep["alpha"]]
    assert lengths == sorted(lengths)
    assert "tok:13a" in sweep["signature"]


def test_text_that_is_not_parallel(folder, run_failing):
    (folder / "short.de").write_text("ein hund\n")
    error = run_failing(*arguments(folder, references=folder / "short.de"))
    assert "differ in their number of lines" in error
    assert not (folder / "sweep.json").exists()
