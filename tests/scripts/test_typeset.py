"""typeset.py through its command line."""

import csv

import paper_runs
import pytest
import yaml


@pytest.fixture
def typeset(tmp_path, root):
    """Made-up runs, and the arguments that make a table of them."""
    reproduction = paper_runs.reproduction()
    paper_runs.make_runs(tmp_path, root, reproduction)
    file = tmp_path / "reproduction.yaml"
    file.write_text(yaml.safe_dump(reproduction.model_dump()), encoding="utf-8")
    options = {"catalog": root / "config", "reproduction": file, "table": "systems"}
    options["runs"] = tmp_path / "runs"
    options |= {
        name: tmp_path / "tables" / f"systems.{name}"
        for name in ("csv", "markdown", "html", "latex")
    }
    return lambda **changes: [
        "typeset",
        *(f"--{name}={value}" for name, value in (options | changes).items()),
    ]


def test_writes_the_table_in_four_forms(typeset, run_script, tmp_path):
    done = run_script(*typeset())
    assert done.returncode == 0, done.stderr
    tables = tmp_path / "tables"
    with (tables / "systems.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["experiment"] for row in rows] == [
        "demo-rnnencdec",
        "demo-rnnsearch",
        "demo-transformer",
    ]
    assert (
        (tables / "systems.markdown")
        .read_text(encoding="utf-8")
        .startswith("# Systems & scores, 100% made up\n")
    )
    assert (tables / "systems.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert r"\label{tab:made-up-systems}" in (tables / "systems.latex").read_text(encoding="utf-8")


def test_the_same_files_every_time(typeset, run_script, tmp_path):
    first = run_script(*typeset(), env={"PYTHONHASHSEED": "1"})
    written = {path.name: path.read_bytes() for path in (tmp_path / "tables").iterdir()}
    again = run_script(*typeset(), env={"PYTHONHASHSEED": "2"})
    assert (first.returncode, again.returncode) == (0, 0)
    assert {path.name: path.read_bytes() for path in (tmp_path / "tables").iterdir()} == written


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": "system"}, "unknown table 'system': did you mean 'systems'?"),
        (
            {"runs": "nowhere"},
            "nowhere/demo/demo-rnnencdec/seed-1/training.json is not there: let snakemake make it",
        ),
        ({"reproduction": "nowhere.yaml"}, "nowhere.yaml is not there"),
    ],
)
def test_errors_write_nothing(typeset, run_failing, tmp_path, changes, message):
    assert message in run_failing(*typeset(**changes))
    assert not (tmp_path / "tables").exists()
