"""The benchmarks of training and search run, beside the peers that are installed."""

import os
import subprocess
import sys

from tests.support import tiny_models, tiny_training
from tests.support.files import ROOT
from tests.support.workflows import TINY


def table(name: str, *arguments: object) -> list[list[str]]:
    """Return the cells of the table that a benchmark prints."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / f"{name}.py", "--rounds=1", "--threads=1"]
        + [str(argument) for argument in arguments],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        encoding="utf-8",
    )
    assert process.returncode == 0, process.stderr
    lines = [line for line in process.stdout.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_training_is_measured_beside_transformers(tmp_path):
    made = tiny_training.prepare(tmp_path / "made")
    tokens = tmp_path / "tiny" / "tiny-bpe" / "tokens"
    tokens.mkdir(parents=True)
    (made / "tokens-train").rename(tokens / "train")
    lines = table(
        *("training", "--catalog", ROOT / TINY, "--reproduction", ROOT / TINY),
        *("--corpora", tmp_path, "--rows", "tiny-transformer", "--updates", 2),
        *("--peers", "transformers"),
    )
    assert [line[:2] for line in lines] == [
        ["tiny-transformer", "this"],
        ["tiny-transformer", "transformers"],
    ]
    assert lines[0][-1] == "1"
    assert all(float(cell.replace(",", "")) > 0 for line in lines for cell in line[2:])


def test_search_is_measured_beside_ctranslate2(tmp_path):
    model = tiny_models.make_model(tmp_path, "transformer")
    lines = table("search", "--model", model, "--sources", tmp_path / "text.en")
    assert [line[1] for line in lines] == ["this", "ctranslate2"]
