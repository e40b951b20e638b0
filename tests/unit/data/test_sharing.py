"""Arrays that a node's processes have once."""

import multiprocessing
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

from nmt.data import sharing
from nmt.data.batches import Batches
from nmt.data.sharing import SharedArrays
from nmt.data.tokens import ParallelTokens, Ragged


def make():
    return {"numbers": np.arange(5), "more": np.ones(2)}


def must_not_be_made():
    raise AssertionError("made twice")


def read_elsewhere(folder, queue):
    queue.put(SharedArrays(folder).get("key", must_not_be_made)["numbers"].tolist())


def test_what_one_process_makes_another_maps(tmp_path):
    shared = SharedArrays(tmp_path / "folder")
    arrays = shared.get("key", make)
    assert isinstance(arrays["numbers"], np.memmap)
    queue = multiprocessing.Queue()
    other = multiprocessing.Process(target=read_elsewhere, args=(tmp_path / "folder", queue))
    other.start()
    assert queue.get(timeout=60) == [0, 1, 2, 3, 4]
    other.join()
    assert (tmp_path / "folder" / f"key.{os.getpid()}").exists()


def test_nodes_that_share_their_temporary_files_have_folders_of_their_own(monkeypatch):
    """A process of another node is not known here, and would pass for one that was killed."""
    here = SharedArrays().folder
    monkeypatch.setattr(sharing, "HOST", "another-node")
    assert SharedArrays().folder != here


def test_what_is_forgotten_stays_with_those_that_have_mapped_it(tmp_path):
    shared = SharedArrays(tmp_path)
    arrays = [shared.get(key, make) for key in ("one", "two", "three")]
    shared.forget(kept=2)
    assert {path.stem for path in tmp_path.iterdir()} == {"lock", "two", "three"}
    assert arrays[0]["numbers"].tolist() == [0, 1, 2, 3, 4]
    shared.forget()
    assert {path.stem for path in tmp_path.iterdir()} == {"lock"}


def test_what_another_process_is_reading_is_forgotten_after_that(tmp_path):
    shared = SharedArrays(tmp_path)
    shared.get("key", make)
    forgetting = threading.Thread(target=shared.forget)
    with SharedArrays(tmp_path).locked():
        forgetting.start()
        forgetting.join(0.2)
        assert len(list(tmp_path.glob("key.*/*.npy"))) == 2
    forgetting.join()
    assert not list(tmp_path.glob("key.*"))


def test_files_of_processes_that_were_killed_are_removed(tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for name in (f"key.{ended.pid}", f".partial.{ended.pid}"):
        (tmp_path / name).mkdir()
    assert len(SharedArrays(tmp_path).get("key", make)) == 2
    assert not list(tmp_path.glob(f"*.{ended.pid}"))


@pytest.mark.parametrize("place", ["a file", "no room"])
def test_without_files_each_process_has_its_own(tmp_path, monkeypatch, place):
    if place == "a file":
        folder = tmp_path / "file"
        folder.write_text("")
    else:
        folder = tmp_path

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(np, "save", full)
    arrays = SharedArrays(folder).get("key", make)
    assert arrays["numbers"].tolist() == [0, 1, 2, 3, 4]
    assert not isinstance(arrays["numbers"], np.memmap)
    assert {path.name for path in tmp_path.iterdir()} <= {"file", "lock"}


def test_ranks_share_the_order_of_an_epoch(tmp_path):
    lengths = np.random.default_rng(1).integers(0, 20, 300)
    side = Ragged(np.zeros(sum(lengths), np.uint16), np.concatenate([[0], np.cumsum(lengths)]))
    tokens = ParallelTokens(side, side, {"fingerprint": "of these tokens"})
    batches = Batches(tokens, 100, 1, per_update=2)
    batches.shared = SharedArrays(tmp_path)
    for number in (1, 2, 3):
        together, alone = batches.epoch(number, ranks=2), batches.epoch(number)
        assert isinstance(together.indices, np.memmap)
        for ours, theirs in zip(together, alone, strict=True):
            assert [batch.tolist() for batch in ours] == [batch.tolist() for batch in theirs]
    assert len(list(tmp_path.iterdir())) == 3  # the lock, and two orders
    batches.shared.forget()
