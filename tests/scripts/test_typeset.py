"""The command line of typeset.py."""

import csv

import pytest

from tests.support import paper_runs


@pytest.fixture
def typeset(tmp_path, root):
    """Make up runs; return typeset(**changes), the arguments that make a table of them."""
    options = paper_runs.script_options(tmp_path, root, paper_runs.reproduction())
    for name in ("csv", "markdown", "latex"):
        options[name] = tmp_path / "tables" / f"systems.{name}"

    def arguments(**changes) -> list[str]:
        changed = options | changes
        return ["typeset", *(f"--{name}={value}" for name, value in changed.items())]

    return arguments


def test_the_table_of_data_says_what_was_dropped(typeset, run_script, tmp_path):
    process = run_script(*typeset(table="corpora"))
    assert process.returncode == 0, process.stderr
    with (tmp_path / "tables" / "systems.csv").open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["vocabulary"] == "demo-bpe-2000"
    assert [row["pairs"], row["pairs_kept"], row["dropped_ratio"]] == ["56", "50", "3"]
    markdown = (tmp_path / "tables" / "systems.markdown").read_text(encoding="utf-8")
    assert "dropped too long" in markdown
    assert " 0.105% " in markdown  # one of 950 subwords is unknown


def test_aiayns_table_1_needs_no_run(typeset, run_script, tmp_path):
    process = run_script(*typeset(table="complexity", runs=tmp_path / "nowhere"))
    assert process.returncode == 0, process.stderr
    assert "O(n²·d)" in (tmp_path / "tables" / "systems.markdown").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"table": "system"}, "'systems'"),
        ({"runs": "nowhere"}, "nowhere/demo/demo-rnnencdec/seed-1/training.json is not there"),
        ({"reproduction": "nowhere.yaml"}, "nowhere.yaml is not there"),
    ],
)
def test_errors_write_nothing(typeset, run_failing, tmp_path, changes, message):
    assert message in run_failing(*typeset(**changes))
    assert not (tmp_path / "tables").exists()
