"""The command line of plot.py."""

import pytest
from PIL import Image

from tests.support import paper_runs


@pytest.fixture
def plot(tmp_path, root):
    """Make up runs; return plot(**changes), the arguments that draw a figure of them."""
    reproduction = paper_runs.reproduction((1,), experiments=["demo-rnnsearch"])
    options = paper_runs.script_options(tmp_path, root, reproduction) | {"figure": "attention"}
    options |= {form: tmp_path / "figures" / f"figure.{form}" for form in ("png", "pdf", "csv")}

    def arguments(**changes) -> list[str]:
        return ["plot", *(f"--{name}={value}" for name, value in (options | changes).items())]

    return arguments


def test_draws_the_same_files_every_time(plot, start_script, tmp_path):
    """The files depend neither on the time, nor on the process, nor on the order of sets."""
    contents: list[dict[str, bytes]] = []
    for hash_seed in ("1", "2"):
        process = start_script(*plot(), env={"PYTHONHASHSEED": hash_seed})
        assert process.returncode == 0, process.stderr
        assert process.stderr == ""
        paths = (tmp_path / "figures").iterdir()
        contents.append({path.suffix: path.read_bytes() for path in paths})
    assert contents[0] == contents[1]
    assert contents[0][".pdf"].startswith(b"%PDF")
    assert contents[0][".csv"].startswith(b"panel,")
    assert Image.open(tmp_path / "figures" / "figure.png").text["Description"] == (
        "Commit abcdef0123"
    )
    assert b"/Subject (Commit abcdef0123)" in contents[0][".pdf"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": "third"}, "'third'"),
        ({"runs": "nowhere"}, "nowhere/demo/demo-rnnsearch/seed-1/training.json is not there"),
        ({"figure": "moon"}, "learning-curves"),
    ],
)
def test_errors_write_nothing(plot, run_script, tmp_path, changes, message):
    process = run_script(*plot(**changes))
    assert process.returncode
    assert message in process.stderr
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize(
    ("figure", "name", "content"),
    [
        ("learning-curves", "metrics.jsonl", b"\xf0\x01\n\xff\n"),
        ("bleu-by-length", "test.scores.json", b"{}"),
        ("attention", "attention.json", b"{}"),
    ],
)
def test_a_damaged_file_is_named(plot, run_failing, tmp_path, figure, name, content):
    path = tmp_path / "runs" / "demo" / "demo-rnnsearch" / "seed-1" / name
    path.write_bytes(content)
    assert f"error: {path} is damaged" in run_failing(*plot(figure=figure))
