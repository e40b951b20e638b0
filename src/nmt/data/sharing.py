"""Arrays that one process of a node makes, and all of its processes map from the same files."""

import atexit
import fcntl
import os
import re
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from nmt.files import remove

HOST = socket.gethostname().partition(".")[0]
Arrays = dict[str, np.ndarray]


class SharedArrays:
    """Makes named arrays once on each node.

    The files are in the folder for temporary files, which nodes may share, until this process ends
    or calls `forget`. Who has mapped them keeps them. Where there is no room for files, each
    process has its own arrays.
    """

    def __init__(self, folder: Path | None = None):
        self.folder = folder or Path(tempfile.gettempdir()) / f"nmt-{os.getuid()}-{HOST}"
        self.made: list[Path] = []

    def get(self, key: str, make: Callable[[], Arrays]) -> Arrays:
        """Return the arrays of a key, made here if no other process of the node has made them."""
        try:
            with self.locked():
                self.remove_leftovers()
                for path in self.folder.glob(f"{key}.*"):
                    return mapped(path)
                arrays = make()
                return self.written(key, arrays)
        except OSError:
            return make()

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder: no other process adds or removes files. Raises OSError without it."""
        self.folder.mkdir(mode=0o700, exist_ok=True)
        with open(self.folder / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def written(self, key: str, arrays: Arrays) -> Arrays:
        """Write arrays to files, and return these mapped, or the arrays where there is no room."""
        path = self.folder / f"{key}.{os.getpid()}"
        partial = self.folder / f".partial.{os.getpid()}"
        try:
            partial.mkdir()
            for name, array in arrays.items():
                np.save(partial / f"{name}.npy", array)
            partial.rename(path)
        except OSError:
            remove(partial)
            return arrays
        if not self.made:
            atexit.register(self.forget)
        self.made.append(path)
        return mapped(path)

    def forget(self, kept: int = 0) -> None:
        """Remove the files that this process has made, but for the last ones."""
        count = max(0, len(self.made) - kept)
        for path in self.made[:count]:
            with suppress(OSError), self.locked():
                remove(path)
        del self.made[:count]

    def remove_leftovers(self) -> None:
        """Remove the files of processes that were killed."""
        for path in self.folder.iterdir():
            owner = re.fullmatch(r".+\.(\d+)", path.name)
            if owner and not is_alive(int(owner[1])):
                remove(path)


def mapped(folder: Path) -> Arrays:
    """Return the arrays in a folder, mapped from their files."""
    return {path.stem: np.load(path, mmap_mode="r") for path in folder.glob("*.npy")}


def is_alive(pid: int) -> bool:
    """Return whether this machine has a process of this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True
