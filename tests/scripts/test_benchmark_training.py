"""benchmark_training.py and its worker through their command lines."""

import csv
import json
import sys

import pytest
import tiny_training

ROWS = ("tiny-transformer", "tiny-rnnsearch")
FORMS = ("csv", "markdown", "pdf", "png")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_training.prepare(tmp_path_factory.mktemp("benchmark"))


@pytest.fixture
def arguments(folder, tmp_path):
    named = {"catalog": folder / "catalog", "rounds": 1, "seconds": 0.1, "threads": 1}
    named |= {name: tmp_path / "made" / f"speed.{name}" for name in FORMS}
    start = ["benchmark_training", *(f"--{name}={value}" for name, value in named.items())]
    return lambda *rows: [
        *start,
        "--tokens",
        *[folder / "tokens-train" for _ in rows],
        "--experiments",
        *rows,
    ]


def test_two_versions_are_measured_interleaved(arguments, root, run_script, tmp_path):
    done = run_script(*arguments(*ROWS), f"--against={root}")
    assert done.returncode == 0, done.stderr
    with (tmp_path / "made" / "speed.csv").open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [(line["experiment"], line["version"]) for line in lines] == [
        (row, version) for row in ROWS for version in ("this", "other")
    ]
    table = (tmp_path / "made" / "speed.markdown").read_text(encoding="utf-8")
    assert done.stdout == table
    assert "to other" in table.splitlines()[0]
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:4]] == list(ROWS)
    assert (tmp_path / "made" / "speed.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "made" / "speed.pdf").read_bytes().startswith(b"%PDF")


def test_what_makes_it_fast_is_left_out_by_name(arguments, run_script, tmp_path):
    done = run_script(*arguments(ROWS[0]), "--without", "cheap-dropout", "kept-memory")
    assert done.returncode == 0, done.stderr
    columns = [name.strip() for name in done.stdout.splitlines()[0].split("|")]
    assert columns[-3:-1] == ["to without cheap-dropout", "to without kept-memory"]


def test_phases_add_up(folder, run_module):
    arguments = {"catalog": folder / "catalog", "tokens": folder / "tokens-train"}
    arguments |= {"experiment": ROWS[0], "seconds": 0.5, "threads": 1}
    done = run_module(
        "nmt.benchmarks.measure_training",
        *(f"--{name}={value}" for name, value in arguments.items()),
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert 0 < found["mfu"] < 1
    assert 0 < found["padding"] < 0.3
    assert found["memory"] > 1e8
    assert all(found[phase] > 0 for phase in ("data", "forward", "backward", "optimizer"))
    inside = sum(found[phase] for phase in ("forward", "backward", "optimizer"))
    assert inside == pytest.approx(1e6 / found["target_tokens_per_second"], rel=1e-6)


def test_what_cannot_be_measured_writes_nothing(arguments, run_script, tmp_path):
    done = run_script(*arguments(ROWS[0]), f"--against={tmp_path}")
    assert done.returncode == 1
    assert done.stderr.endswith(
        f"{tmp_path} cannot be compared with: src has no module"
        " nmt.benchmarks.measure_training there.\n"
    )
    said = run_script(*arguments("tiny-transfomer")).stderr
    started = f"{sys.executable} -m nmt.benchmarks.measure_training"
    assert said.endswith(f"tiny-transfomer could not be measured by {started}: see above.\n")
    assert not (tmp_path / "made").exists()
