"""The command line of plot.py."""

import pytest
import yaml
from PIL import Image

from nmt.configuration import Table
from nmt.provenance import commit
from tests.support import paper_runs


@pytest.fixture
def plot(tmp_path, root):
    """Make up runs; return plot(**changes), the arguments that draw a figure of them."""
    tables = {
        "first": Table(title="A", experiments=["demo-rnnsearch"], split="test", metrics=["bleu"]),
        "second": Table(title="B", experiments=["demo-rnnencdec"], split="test", metrics=["bleu"]),
    }
    reproduction = paper_runs.reproduction((1,), **tables)
    paper_runs.make_runs(tmp_path, root, reproduction)
    file = tmp_path / "reproduction.yaml"
    file.write_text(yaml.safe_dump(reproduction.model_dump(), sort_keys=False), encoding="utf-8")
    options = {
        "catalog": root / "config",
        "reproduction": file,
        "figures": "attention",
        "runs": tmp_path / "runs",
        "output": tmp_path / "figures",
    }

    def arguments(**changes) -> list[str]:
        changed = options | changes
        return ["plot", *(f"--{name}={value}" for name, value in changed.items())]

    return arguments


def test_draws_the_first_table_and_the_same_files_every_time(plot, start_script, tmp_path):
    """The files depend neither on the time, nor on the process, nor on the order of sets."""
    contents: list[dict[str, bytes]] = []
    for hash_seed in ("1", "2"):
        process = start_script(*plot(), env={"PYTHONHASHSEED": hash_seed})
        assert process.returncode == 0, process.stderr
        assert process.stderr == ""
        paths = (tmp_path / "figures").iterdir()
        contents.append({path.name: path.read_bytes() for path in paths})
    assert contents[0] == contents[1]
    assert contents[0]["attention.pdf"].startswith(b"%PDF")
    assert contents[0]["attention.png"].startswith(b"\x89PNG")
    assert contents[0]["attention.csv"].startswith(b"panel,")


def test_several_figures_at_once_of_a_table_by_its_name(plot, run_script, tmp_path):
    process = run_script(*plot(figures="cost", table="second"), "--figures", "speed", "attention")
    assert process.returncode == 0, process.stderr
    names = {path.name for path in (tmp_path / "figures").iterdir()}
    assert names == {
        f"{stem}.{form}" for stem in ("second.speed", "attention") for form in ("pdf", "png", "csv")
    }


@pytest.mark.parametrize(
    ("figure", "origin"),
    [("learning-rate", "Commit abcdef0123"), ("positional-encodings", None)],
)
def test_metadata_name_the_commit(plot, run_script, tmp_path, figure, origin):
    assert run_script(*plot(figures=figure)).returncode == 0
    (picture,) = (tmp_path / "figures").glob("*.png")
    origin = origin or f"Commit {commit()}"
    assert Image.open(picture).text["Description"] == origin
    pdf = picture.with_suffix(".pdf").read_bytes()
    assert f"/Subject ({origin})".encode() in pdf


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": "third"}, "unknown table 'third'"),
        ({"runs": "nowhere"}, "nowhere/demo/demo-rnnsearch/seed-1/training.json is not there"),
    ],
)
def test_errors_write_nothing(plot, run_failing, tmp_path, changes, message):
    assert message in run_failing(*plot(**changes))
    assert not (tmp_path / "figures").exists()


@pytest.mark.parametrize(
    ("figure", "name", "content"),
    [
        ("learning-curves", "metrics.jsonl", b"\xf0\x01\n\xff\n"),
        ("learning-rate", "metrics.jsonl", b"[]\n"),
        ("bleu-by-length", "test.scores.json", b"{}"),
        ("attention", "attention.json", b"{}"),
        ("search", "dev.sweep.json", b"{}"),
    ],
)
def test_a_damaged_file_is_named(plot, run_failing, tmp_path, figure, name, content):
    path = tmp_path / "runs" / "demo" / "demo-rnnsearch" / "seed-1" / name
    path.write_bytes(content)
    error = run_failing(*plot(figures=figure))
    assert f"error: {path} is damaged" in error
    assert "delete it and let snakemake make it" in error


@pytest.mark.parametrize("content", [b"", b"\x80\x02.", b"cut"])
def test_damaged_offsets_are_named(plot, run_failing, tmp_path, content):
    (path,) = tmp_path.glob("corpora/demo/*/tokens/train/source_offsets.npy")
    path.write_bytes(path.read_bytes()[:-4] if content == b"cut" else content)
    error = run_failing(*plot(figures="subword-lengths"))
    assert f"error: {path} cannot be read (" in error
    assert f"delete {path.parent} and run snakemake, or binarize.py" in error


def test_an_unknown_figure_is_a_bad_argument(plot, run_script):
    process = run_script(*plot(figures="moon"))
    assert process.returncode == 2
    assert "learning-curves" in process.stderr
