"""benchmark_training.py and its worker through their command lines."""

import csv
import json
import sys

import pytest

from tests.support import tiny_training

ROWS = ("tiny-transformer", "tiny-rnnsearch")
FORMATS = ("csv", "markdown", "pdf", "png")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_training.prepare(tmp_path_factory.mktemp("benchmark"))


@pytest.fixture
def arguments(folder, tmp_path):
    """Arguments of run_script that measure these rows once."""
    values = {"catalog": folder / "catalog", "rounds": 1, "seconds": 0.1, "threads": 1}
    values |= {name: tmp_path / "made" / f"speed.{name}" for name in FORMATS}
    options = [f"--{name}={value}" for name, value in values.items()]

    def build(*rows: str) -> list:
        tokens = [folder / "tokens-train" for _ in rows]
        return ["benchmark_training", *options, "--tokens", *tokens, "--experiments", *rows]

    return build


def test_two_versions_are_measured_interleaved(arguments, root, run_script, tmp_path):
    process = run_script(*arguments(*ROWS), f"--against={root}")
    assert process.returncode == 0, process.stderr
    with (tmp_path / "made" / "speed.csv").open(encoding="utf-8") as file:
        measurements = list(csv.DictReader(file))
    assert [(record["experiment"], record["version"]) for record in measurements] == [
        (row, version) for row in ROWS for version in ("this", "other")
    ]
    table = (tmp_path / "made" / "speed.markdown").read_text(encoding="utf-8")
    assert process.stdout == table
    assert "to other" in table.splitlines()[0]
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:4]] == list(ROWS)
    assert (tmp_path / "made" / "speed.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "made" / "speed.pdf").read_bytes().startswith(b"%PDF")


def test_optimizations_are_left_out_by_name(arguments, run_script):
    process = run_script(*arguments(ROWS[0]), "--without", "cheap-dropout", "kept-memory")
    assert process.returncode == 0, process.stderr
    columns = [name.strip() for name in process.stdout.splitlines()[0].split("|")]
    assert columns[-3:-1] == ["to without cheap-dropout", "to without kept-memory"]


def test_phases_add_up(folder, run_module):
    values = {
        "catalog": folder / "catalog",
        "tokens": folder / "tokens-train",
        "experiment": ROWS[0],
        "seconds": 0.5,
        "threads": 1,
    }
    options = [f"--{name}={value}" for name, value in values.items()]
    process = run_module("nmt.benchmarks.measure_training", *options)
    assert process.returncode == 0, process.stderr
    speed = json.loads(process.stdout)
    assert 0 < speed["mfu"] < 1
    assert 0 < speed["padding"] < 0.3
    assert speed["memory"] > 1e8
    assert all(speed[phase] > 0 for phase in ("data", "forward", "backward", "optimizer"))
    total = sum(speed[phase] for phase in ("forward", "backward", "optimizer"))
    assert total == pytest.approx(1e6 / speed["target_tokens_per_second"], rel=1e-6)


def test_what_cannot_be_measured_writes_nothing(arguments, run_script, tmp_path):
    process = run_script(*arguments(ROWS[0]), f"--against={tmp_path}")
    assert process.returncode == 1
    assert process.stderr.endswith(
        f"{tmp_path} cannot be compared: its src has no module nmt.benchmarks.measure_training.\n"
    )
    process = run_script(*arguments("tiny-transfomer"))
    worker = f"{sys.executable} -m nmt.benchmarks.measure_training"
    assert process.stderr.endswith(
        f"tiny-transfomer could not be measured by {worker}: see above.\n"
    )
    assert not (tmp_path / "made").exists()
