"""Killed and resumed equals uninterrupted, bit for bit."""

import os
from signal import SIGINT, SIGKILL, SIGTERM

import pytest

from tests.support.killed_trainings import Point, Trainings, contents, log_of

INTERRUPTED = 75  # the exit code of a training that has saved its state


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trainings")
    return Trainings(folder, updates=150, interval=10, bleu_interval=30, average=3)


@pytest.mark.parametrize(
    ("point", "code"),
    [
        (Point(SIGTERM, update=20), INTERRUPTED),
        (Point(SIGKILL, at="after checkpoints/00000030.safetensors"), -SIGKILL),
        (Point(SIGKILL, at="before state.safetensors"), -SIGKILL),
        (Point(SIGKILL, at="before training.json"), -SIGKILL),
    ],
    ids=["update", "checkpoint without its state", "state being written", "end"],
)
def test_a_killed_training_goes_on_as_if_nothing_had_happened(trainings, tmp_path, point, code):
    run = tmp_path / "run"
    assert trainings.interrupted(run, point) == code
    # The first state is written at update 10 at the earliest.
    assert ("going on from update" in log_of(run)) == (point.at != "before state.safetensors")
    assert contents(run) == contents(trainings.whole)


@pytest.mark.parametrize(("signal", "is_queued"), [(SIGTERM, True), (SIGINT, False)])
def test_ctrl_c_does_not_queue_a_slurm_job_again(
    trainings, tmp_path, monkeypatch, signal, is_queued
):
    """The job may be an interactive one, in which more than the training runs."""
    for program, text in {
        "squeue": 'case "$*" in *%T*) echo RUNNING;; *) echo 1:00:00;; esac',
        "scontrol": f"echo $* > '{tmp_path}/asked'; exit 1",
    }.items():
        (tmp_path / program).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    point = Point(signal, at="after checkpoints/00000020.safetensors")
    assert trainings.interrupted(tmp_path / "run", point) == INTERRUPTED
    assert contents(tmp_path / "run") == contents(trainings.whole)
    assert (tmp_path / "asked").exists() is is_queued
