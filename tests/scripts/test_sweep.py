"""sweep.py through its command line."""

import pytest
import tiny_models

from nmt.files import read_json


@pytest.fixture
def folder(tmp_path):
    tiny_models.make_model(tmp_path, "transformer")
    return tmp_path


def arguments(folder, **changes):
    named = {
        "model": folder / "transformer",
        "source": folder / "text.en",
        "references": folder / "text.de",
    }
    named |= {"output": folder / "sweep.json"} | changes
    return [
        "sweep",
        *(f"--{name}={value}" for name, value in named.items()),
        "--beams",
        "1",
        "3",
        "--alphas",
        "0",
        "2",
    ]


def test_each_setting_is_scored(folder, run_script):
    done = run_script(*arguments(folder))
    assert done.returncode == 0, done.stderr
    found = read_json(folder / "sweep.json")
    assert [(each["beam"], each["alpha"]) for each in found["beam"]] == [(1, 0.6), (3, 0.6)]
    assert [(each["beam"], each["alpha"]) for each in found["alpha"]] == [(4, 0), (4, 2)]
    assert (
        found["alpha"][0]["length"] <= found["alpha"][1]["length"]
    )  # the penalty is for short ones
    assert "tok:13a" in found["signature"]


def test_text_that_is_not_parallel(folder, run_failing):
    (folder / "short.de").write_text("ein hund\n")
    error = run_failing(*arguments(folder, references=folder / "short.de"))
    assert "differ in their number of lines" in error
    assert not (folder / "sweep.json").exists()
