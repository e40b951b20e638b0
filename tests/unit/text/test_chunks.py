"""Text in chunks, and processes that work on them in order."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from nmt.errors import UserError
from nmt.files import read_lines
from nmt.text import chunks as module
from nmt.text.chunks import in_processes, read_chunks, read_pairs_of_chunks

TEXTS = [
    b"",
    b"\n",
    b"one",
    b"\xef\xbb\xbfone\ntwo\r\n\r\nfour\r",
    b"\xef\xbb\xbf\n\xef\xbb\xbfx\n",
    "a\u2028b\x85c\x0bd\x1ce\rf\x00g\r\r\n\n\nlast".encode(),
    b"short\n" + b"long " * 200 + b"\nshort\n",
]


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_chunks_hold_the_lines_of_the_file(tmp_path, monkeypatch, text, size):
    monkeypatch.setattr(module, "CHUNK", size)
    path = tmp_path / "text"
    path.write_bytes(text)
    chunks = list(read_chunks(path))
    expected = list(read_lines(path))
    assert [line for chunk in chunks for line in chunk.lines()] == expected
    assert sum(chunk.size for chunk in chunks) == len(expected)
    pairs = list(read_pairs_of_chunks(path, path))
    for side in (0, 1):
        assert [line for pair in pairs for line in pair[side].lines()] == expected


def test_invalid_utf8_is_named_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 4)
    path = tmp_path / "text"
    path.write_bytes(b"good\r\ngood\nbad \xff\n")
    with pytest.raises(UserError, match=r"text, line 3: not valid UTF-8 \(byte 5 of the line\)"):
        [chunk.lines() for chunk in read_chunks(path)]


@pytest.mark.parametrize(
    ("source", "target"), [("a\nb\nc\n", "x\n"), ("a\n", "x\ny\nz"), ("", "x")]
)
def test_sides_that_do_not_pair_are_an_error_with_both_counts(
    tmp_path, monkeypatch, source, target
):
    monkeypatch.setattr(module, "CHUNK", 1)
    (tmp_path / "s").write_text(source)
    (tmp_path / "t").write_text(target)
    counts = [len(text.splitlines()) for text in (source, target)]
    with pytest.raises(UserError, match=rf"s has {counts[0]} lines but .*t has {counts[1]}:"):
        list(read_pairs_of_chunks(tmp_path / "s", tmp_path / "t"))


def adder(number):
    return lambda item: item + number


@pytest.mark.parametrize("jobs", [1, 3])
def test_results_come_in_order(jobs):
    assert list(in_processes(adder, (1,), range(50), jobs)) == list(range(1, 51))


def test_few_items_are_held_at_a_time():
    taken = []
    items = (taken.append(number) or number for number in range(1000))
    with closing(in_processes(adder, (0,), items, 2)) as results:
        assert next(results) == 0
    assert len(taken) < 10


def refuser():
    def refuse(item):
        raise UserError(f"no {item}")

    return refuse


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_error_of_a_process_is_raised(jobs):
    with pytest.raises(UserError, match="no 3"):
        list(in_processes(refuser, (), [3], jobs))


def unmakable():
    raise UserError("no function")


def test_an_error_of_a_process_that_starts_is_raised():
    with pytest.raises(UserError, match="no function"):
        list(in_processes(unmakable, (), [1], 2))


def killer():
    return lambda item: os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_is_one_sentence():
    with pytest.raises(UserError, match="a process was killed, perhaps for lack of memory"):
        list(in_processes(killer, (), [1, 2], 2))


PARENT = """
import os, time
from nmt.text.chunks import in_processes
def make():
    return lambda item: os.getpid() if item < 9 else time.sleep(60)
for pid in in_processes(make, (), range(20), 2):
    print(pid, flush=True)
"""


def test_processes_end_when_their_parent_is_killed():
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    pids = {int(parent.stdout.readline()) for _ in range(4)}
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 30
    while any(map(runs, pids)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def runs(pid: int) -> bool:
    """Return whether the process is there and has not ended; not every container removes those."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
