"""Text in chunks of whole lines, which processes work on side by side, in order and bounded memory.

A chunk is bytes as long as possible: the process that reads and writes neither decodes nor splits.
"""

import gc
import io
import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import partial
from itertools import islice
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from nmt.errors import UserError
from nmt.files import decode_lines, open_lines

CHUNK = 4 * 2**20  # bytes, before the line is completed
WAITING_PER_PROCESS = 2  # chunks that are held in memory for each process

Item = TypeVar("Item")


class Chunk(NamedTuple):
    """Consecutive lines of a file, encoded. first: the number of the first one, from 1."""

    name: str
    first: int
    data: bytes

    @property
    def size(self) -> int:
        """The number of lines."""
        return self.data.count(b"\n") + (not self.data.endswith(b"\n"))

    def lines(self) -> list[str]:
        r"""Return the lines as `nmt.files.read_lines` yields them.

        Raises UserError naming file and line when they are not UTF-8.
        """
        try:
            text = self.data.decode("utf-8")
        except UnicodeDecodeError:
            return list(decode_lines(io.BytesIO(self.data), self.name, self.first))
        if self.first == 1:
            text = text.removeprefix("\ufeff")
        if "\r" in text:
            text = text.replace("\r\n", "\n")
            text = text if text.endswith("\n") else text.removesuffix("\r")
        return text.removesuffix("\n").split("\n")


def read_chunks(path: str | Path) -> Iterator[Chunk]:
    """Yield a text file, plain or .gz, in chunks. Raises UserError as `read_lines` does."""
    first = 1
    with open_lines(path) as file:
        while data := file.read(CHUNK):
            chunk = Chunk(str(path), first, data + file.readline())
            yield chunk
            first += chunk.size


def read_pairs_of_chunks(source: Path, target: Path) -> Iterator[tuple[Chunk, Chunk]]:
    """Yield parallel text in pairs of chunks of equally many lines.

    Raises UserError naming both counts when one side has more lines than the other.
    """
    count = 0
    with open_lines(source) as source_file, open_lines(target) as target_file:
        while True:
            source_lines = source_file.readlines(CHUNK)
            target_lines = list(islice(target_file, len(source_lines) or 1))
            if len(source_lines) != len(target_lines):
                source_count = count + len(source_lines) + sum(1 for _ in source_file)
                target_count = count + len(target_lines) + sum(1 for _ in target_file)
                raise UserError(
                    f"{source} has {source_count} lines but {target} has {target_count}: the two"
                    " sides of parallel text must have the same number of lines."
                )
            if not source_lines:
                return
            yield (
                Chunk(str(source), count + 1, b"".join(source_lines)),
                Chunk(str(target), count + 1, b"".join(target_lines)),
            )
            count += len(source_lines)


def in_processes(
    make: Callable[..., Callable[[Item], Any]], arguments: tuple, items: Iterable[Item], jobs: int
) -> Generator[Any, None, None]:
    """Yield make(*arguments)(item) for each item, in order, computed by `jobs` processes.

    Each process makes its own function once. Few items are held in memory at a time. With one job
    this process computes them itself.

    Raises UserError when a process cannot make its function, or is killed, as by lack of memory.
    """
    if jobs == 1:
        yield from map(make(*arguments), items)
        return
    waiting: deque[Future] = deque()
    pool = ProcessPoolExecutor(jobs, initializer=start_worker, initargs=(make, arguments))
    try:
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > WAITING_PER_PROCESS * jobs:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    except BrokenProcessPool:
        raise UserError(
            "a process was killed, perhaps for lack of memory: run the same command again with"
            " fewer --jobs, or free memory."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


function: Callable[[Any], Any]  # of a worker process


def start_worker(make: Callable[..., Callable], arguments: tuple) -> None:
    """Make the function of a worker process.

    The worker leaves Ctrl-C to its parent, and ends when that terminates it or has been killed.
    """
    global function
    gc.disable()  # Looking for cycles takes a tenth of the time, and there are none.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=end_with_parent, daemon=True).start()
    try:
        function = make(*arguments)
    except UserError as error:
        # Raised here it would not reach the parent, which then takes the worker for killed.
        function = partial(raise_error, error)


def raise_error(error: UserError, _: Any) -> None:
    """Raise what kept a worker from making its function."""
    raise error


def end_with_parent() -> None:
    """Wait until the parent has ended, and end this process."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)


def work(item: Any) -> Any:
    """Return what the worker's function gives for an item."""
    return function(item)
