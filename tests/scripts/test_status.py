"""status.py through its command line."""

import fcntl
import json
import os

import pytest

from nmt.files import write_json


@pytest.fixture
def make_run(tmp_path):
    """make_run("row", lines) is the state's folder of a run of 100 updates whose metrics.jsonl has
    these lines.
    """

    def make(name: str, lines: list[dict]):
        state = tmp_path / "runs" / "corpus" / name / "seed-1" / "state-0123"
        write_json(state / "settings.json", {"training": {"updates": 100}})
        (state / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        (state / "lock").touch()
        return state

    return make


STEP = {"update": 40, "loss": 4.5, "nll": 3.25, "tokens_per_second": 12_345, "seconds": 20.0}
DEV = {"update": 50, "dev_nll": 2.0, "dev_perplexity": 7.389, "dev_bleu": 12.34}


def status(run_script, folder):
    done = run_script("status", f"--runs={folder / 'runs'}")
    assert (done.returncode, done.stderr) == (0, "")
    return [line.split() for line in done.stdout.splitlines()]


def test_help(run_script):
    done = run_script("status", "--help")
    assert (done.returncode, done.stderr) == (0, "")


def test_before_anything_is_trained(tmp_path, run_script):
    done = run_script("status", f"--runs={tmp_path / 'runs'}")
    assert (done.returncode, done.stdout) == (
        0,
        f"no run has begun to train as {tmp_path / 'runs'}/CORPUS/EXPERIMENT/seed-N.\n",
    )


def test_a_line_a_run(tmp_path, make_run, run_script):
    write_json(make_run("done", [STEP, DEV]).parent / "training.json", {})
    make_run("interrupted", [STEP, DEV])
    make_run("new", [])
    with open(make_run("training", [STEP]) / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lines = status(run_script, tmp_path)
    assert [line[0] for line in lines] == [
        f"corpus/{name}/seed-1" for name in ("done", "interrupted", "new", "training")
    ]
    assert [line[1] for line in lines] == ["done", "interrupted", "interrupted", "training"]
    assert "left" not in lines[0]
    assert (
        " ".join(lines[1][2:])
        == "update 50 of 100 loss 3.250 12,345 tokens/s 0:00:30 left at most dev perplexity 7.39 at"
        " 50 greedy dev BLEU 12.34 at 50"
    )
    assert lines[2][2:] == ["no", "update", "logged", "yet"]
    assert "0:00:30 left at most" in " ".join(lines[3])


def test_the_latest_configuration_speaks_for_a_run(tmp_path, make_run, run_script):
    state = make_run("row", [STEP])
    later = state.with_name("state-4567")
    write_json(later / "settings.json", {"training": {"updates": 70}})
    (later / "metrics.jsonl").write_text(json.dumps(STEP))
    (later / "lock").touch()
    os.utime(state / "settings.json", (0, 0))
    (line,) = status(run_script, tmp_path)
    assert line[2:6] == ["update", "40", "of", "70"]


def test_half_a_line_is_no_fault(tmp_path, make_run, run_script):
    state = make_run("killed", [STEP])
    with open(state / "metrics.jsonl", "a") as file:
        file.write('{"update": 60, "lo')
    ((_, doing, _, update, *_),) = status(run_script, tmp_path)
    assert (doing, update) == ("interrupted", "40")


def test_looking_does_not_disturb(tmp_path, make_run, run_script):
    state = make_run("row", [STEP])
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    status(run_script, tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    (state / "lock").unlink()
    assert status(run_script, tmp_path)[0][1] == "interrupted"


def test_damaged_settings_are_named_and_other_runs_shown(tmp_path, make_run, run_script):
    state, _ = make_run("bad", [STEP]), make_run("good", [STEP])
    (state / "settings.json").write_text("{")
    bad, good = status(run_script, tmp_path)
    assert " ".join(bad).startswith(
        f"corpus/bad/seed-1 {state / 'settings.json'} is not valid JSON"
    )
    assert good[1:4] == ["interrupted", "update", "40"]
