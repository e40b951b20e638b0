"""What a training knows of its SLURM job."""

import math
import time

import pytest

from nmt.training import slurm


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:07", 7),
        ("12:34", 754),
        ("2:00:01", 7201),
        ("1-02:03:04", 93784),
        ("UNLIMITED", math.inf),
        ("INVALID", None),
        ("", None),
    ],
)
def test_times_are_read_as_slurm_writes_them(text, expected):
    assert slurm.seconds(text) == expected


def test_training_ends_two_minutes_before_the_job(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    asked = []
    monkeypatch.setattr(slurm, "output_of", lambda *command: asked.append(command) or "10:00")
    assert slurm.end_of_training() - time.monotonic() == pytest.approx(480, abs=10)
    assert "--jobs=7" in asked[0]
    monkeypatch.setattr(slurm, "output_of", lambda *_: None)  # squeue is not there, or fails
    assert slurm.end_of_training() is None
    monkeypatch.delenv("SLURM_JOB_ID")
    assert slurm.end_of_training() == math.inf


def test_a_squeue_that_fails_once_keeps_no_job_from_the_queue(monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setattr(slurm, "PAUSES", (0, 0))
    answers = iter([None, "RUNNING", ""])
    asked = []
    monkeypatch.setattr(
        slurm, "output_of", lambda *command: asked.append(command[0]) or next(answers)
    )
    assert slurm.requeue()
    assert asked == ["squeue", "squeue", "scontrol"]


@pytest.mark.parametrize(
    ("step", "is_step"), [(None, False), ("0", True), ("3", True), ("4294967290", False)]
)
def test_only_a_numbered_step_keeps_another_from_starting(monkeypatch, step, is_step):
    monkeypatch.delenv("SLURM_STEP_ID", raising=False)
    if step:
        monkeypatch.setenv("SLURM_STEP_ID", step)
    assert slurm.in_step() is is_step
