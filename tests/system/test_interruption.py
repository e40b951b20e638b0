"""Killed and resumed equals uninterrupted; kill_points.py does the same at more points and with
whole workflows.
"""

import os
import re

import pytest

from tests.support.killed_trainings import INT, KILL, TERM, Point, Trainings, log_of

ROW = "tiny-transformer"


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    made = Trainings(
        tmp_path_factory.mktemp("trainings"), updates=150, interval=10, bleu_interval=30, average=3
    )
    made.run(ROW)
    return made


@pytest.mark.parametrize(
    ("point", "ending"),
    [
        (Point("half-way", TERM, update=20), 75),
        (
            Point(
                "a checkpoint is there, its state is not",
                KILL,
                at="after checkpoints/00000030.safetensors",
            ),
            -KILL,
        ),
    ],
)
def test_a_killed_training_goes_on_as_if_nothing_had_happened(
    trainings, record_property, point, ending
):
    _, ended, calls, equal = trainings.interrupted(ROW, ending, point)
    log = log_of(trainings.folder / ROW / f"point-{ending}" / "seed-1")
    record_property("printed", re.findall("going on from update .*", log)[-1])
    assert (ended, calls) == (ending, 2)
    assert equal


@pytest.mark.parametrize(("signal", "is_queued"), [(TERM, True), (INT, False)])
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
    point = Point("a checkpoint is there", signal, at="after checkpoints/00000020.safetensors")
    _, ended, _, equal = trainings.interrupted(ROW, 100 + signal, point)
    assert (ended, equal) == (75, True)
    assert (tmp_path / "asked").exists() is is_queued
