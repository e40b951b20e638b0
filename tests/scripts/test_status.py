"""The command line of status.py."""

import fcntl
import json
from pathlib import Path

import pytest

from nmt.files import write_json, write_lines


@pytest.fixture
def make_run(tmp_path):
    """Return make_run("row", lines), which makes a run of 100 updates and returns its state.

    `lines` are those of metrics.jsonl.
    """

    def make(name: str, lines: list[dict]) -> Path:
        state = tmp_path / "runs" / "corpus" / name / "seed-1" / "state-0123"
        write_json(state / "settings.json", {"training": {"updates": 100}})
        write_lines(state / "metrics.jsonl", map(json.dumps, lines))
        (state / "lock").touch()
        return state

    return make


STEP = {"update": 40, "loss": 4.5, "nll": 3.25, "tokens_per_second": 12_345, "seconds": 20.0}
DEV = {"update": 50, "dev_nll": 2.0, "dev_perplexity": 7.389, "dev_bleu": 12.34}


def status(run_script, folder) -> list[list[str]]:
    """Return the words of each line that status.py prints."""
    process = run_script("status", f"--runs={folder / 'runs'}")
    assert (process.returncode, process.stderr) == (0, "")
    return [line.split() for line in process.stdout.splitlines()]


def test_each_run_has_a_line(tmp_path, make_run, run_script):
    write_json(make_run("done", [STEP, DEV]).parent / "training.json", {})
    make_run("interrupted", [STEP, DEV])
    make_run("new", [])
    with open(make_run("training", [STEP]) / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lines = status(run_script, tmp_path)
    names = ["done", "interrupted", "new", "training"]
    assert [line[0] for line in lines] == [f"corpus/{name}/seed-1" for name in names]
    assert [line[1] for line in lines] == ["done", "interrupted", "interrupted", "training"]
    assert "left" not in lines[0]
    assert " ".join(lines[1][2:]) == (
        "update 50 of 100 loss 3.250 12,345 tokens/s 0:00:30 left at most dev perplexity 7.39 at 50"
        " greedy dev BLEU 12.34 at 50"
    )
    assert lines[2][2:] == ["no", "update", "logged", "yet"]


def test_an_unfinished_line_is_ignored(tmp_path, make_run, run_script):
    state = make_run("killed", [STEP])
    with open(state / "metrics.jsonl", "a") as file:
        file.write('{"update": 60, "lo')
    (line,) = status(run_script, tmp_path)
    assert line[1:4] == ["interrupted", "update", "40"]


@pytest.mark.parametrize(
    ("name", "content"),
    [("metrics.jsonl", b'{"update": 20}\n\xff\n{"update": 40}\n'), ("settings.json", b"{}")],
)
def test_a_damaged_file_is_named_and_other_runs_shown(
    tmp_path, make_run, run_script, name, content
):
    state = make_run("bad", [STEP])
    make_run("good", [STEP])
    (state / name).write_bytes(content)
    bad, good = status(run_script, tmp_path)
    assert str(state / name) in bad
    assert good[1:4] == ["interrupted", "update", "40"]
