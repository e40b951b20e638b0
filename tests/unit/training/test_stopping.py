"""What stops a training: signals, and the time limit of its SLURM job."""

import math
import signal

import pytest

from nmt.training import stopping


@pytest.fixture
def answers(monkeypatch):
    """Return answers(...), which lets SLURM's programs print these one after the other.

    None is a program that fails. What was asked is in the list that it returns.
    """
    monkeypatch.setenv("SLURM_JOB_ID", "7")

    def answer(*texts):
        asked, left = [], iter(texts)
        monkeypatch.setattr(
            stopping, "output_of", lambda *command: asked.append(command) or next(left)
        )
        return asked

    return answer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0:07", 7),
        ("12:34", 754),
        ("2:00:01", 7201),
        ("1-02:03:04", 93784),
        ("UNLIMITED", math.inf),
        ("", math.inf),
    ],
)
def test_times_are_read_as_slurm_writes_them(text, expected):
    assert stopping.seconds(text) == expected


def test_signals_are_kept_until_they_are_asked_for():
    handler = signal.getsignal(signal.SIGTERM)
    with stopping.stop_signals() as received:
        numbers = [signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGTERM, signal.SIGINT]
        for number in numbers:
            signal.raise_signal(number)
        assert received == numbers
        with pytest.raises(KeyboardInterrupt):  # a second Ctrl-C
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGTERM) == handler


def test_nohup_is_obeyed():
    handler = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stopping.stop_signals() as received:
            signal.raise_signal(signal.SIGHUP)
        assert received == []
    finally:
        signal.signal(signal.SIGHUP, handler)


def test_without_a_job_there_is_no_limit(monkeypatch):
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    assert stopping.TimeLimit().end == math.inf


def test_training_stops_two_minutes_and_the_longest_update_before_the_limit(answers):
    asked = answers("10:00")
    limit = stopping.TimeLimit()
    assert "--jobs=7" in asked[0]
    limit.last_update -= 470  # as if this update had taken so long
    assert not limit.is_near()
    limit.last_update -= 490
    assert limit.is_near()
    answers(None)  # a squeue that does not answer
    assert stopping.TimeLimit().end == math.inf


@pytest.mark.parametrize(
    ("texts", "is_queued"),
    [
        (["RUNNING", ""], True),
        (["RUNNING", None], False),
        (["COMPLETING"], False),  # as one that was canceled
        ([None], False),
    ],
)
def test_a_job_that_runs_is_put_back_into_the_queue(answers, texts, is_queued):
    asked = answers(*texts)
    assert stopping.requeue() is is_queued
    assert len(asked) == len(texts)
