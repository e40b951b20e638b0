"""plot.py through its command line."""

import paper_runs
import pytest
import yaml

from nmt.configuration import Table


@pytest.fixture
def plot(tmp_path, root):
    """Made-up runs, and the arguments that draw a figure of them."""
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
        "figure": "attention",
        "runs": tmp_path / "runs",
    }
    options |= {
        "pdf": tmp_path / "figures" / "attention.pdf",
        "png": tmp_path / "figures" / "attention.png",
    }
    return lambda **changes: [
        "plot",
        *(f"--{name}={value}" for name, value in (options | changes).items()),
    ]


def test_draws_the_first_table_twice_alike(plot, run_script, tmp_path):
    """Neither the time, nor the process, nor the order of sets is in the files."""
    first = run_script(*plot(), env={"PYTHONHASHSEED": "1"})
    assert first.returncode == 0, first.stderr
    assert first.stderr == ""
    written = {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()}
    assert written["attention.pdf"].startswith(b"%PDF")
    assert written["attention.png"].startswith(b"\x89PNG")
    again = run_script(*plot(), env={"PYTHONHASHSEED": "2"})
    assert again.returncode == 0, again.stderr
    assert {path.name: path.read_bytes() for path in (tmp_path / "figures").iterdir()} == written


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


def test_an_unknown_figure_is_a_bad_argument(plot, run_script):
    done = run_script(*plot(figure="moon"))
    assert done.returncode == 2
    assert "learning-curves" in done.stderr
