"""Chunks, and processes that work on them in order."""

import os
import signal

import pytest

from nmt.errors import UserError
from nmt.text.chunks import chunked, in_processes


def test_chunks_hold_all_items_in_order():
    assert list(chunked(range(10), 4)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert list(chunked([])) == []


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_come_in_order(jobs):
    assert list(in_processes(abs, range(-50, 0), jobs)) == list(range(50, 0, -1))


def test_few_items_are_held_at_a_time():
    taken = []
    items = (taken.append(number) or number for number in range(1000))
    assert next(in_processes(abs, items, 2)) == 0
    assert len(taken) < 10


def refuse(item):
    raise UserError(f"no {item}")


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_a_process_is_raised(jobs):
    with pytest.raises(UserError, match="no 3"):
        list(in_processes(refuse, [3], jobs))


def kill(item):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_is_an_error():
    with pytest.raises(UserError, match="killed"):
        list(in_processes(kill, [1, 2], 2))
