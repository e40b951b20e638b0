"""Items in chunks, on which processes work side by side, in order and bounded memory."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import parent_process
from typing import Any, TypeVar

from nmt.errors import UserError

CHUNK = 10_000  # lines or pairs
WAITING_PER_PROCESS = 2  # chunks that are held in memory for each process

Item = TypeVar("Item")


def chunked(items: Iterable[Item], size: int = 0) -> Iterator[list[Item]]:
    """Yield the items in lists of `size`, without it of CHUNK; the last may be shorter."""
    iterator = iter(items)
    while chunk := list(islice(iterator, size or CHUNK)):
        yield chunk


def in_processes(
    function: Callable[[Item], Any], items: Iterable[Item], jobs: int
) -> Iterator[Any]:
    """Yield function(item) for each item, in order, computed by `jobs` processes.

    Each process gets the function once. Few items are held in memory at a time. With one job this
    process computes all itself.

    Raises UserError when a process is killed, as by lack of memory.
    """
    if jobs == 1:
        yield from map(function, items)
        return
    waiting: deque[Future] = deque()
    pool = ProcessPoolExecutor(jobs, initializer=start_worker, initargs=(function,))
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


function_of_worker: Callable[[Any], Any]


def start_worker(function: Callable[[Any], Any]) -> None:
    """Give a worker its function.

    It leaves Ctrl-C to its parent, and ends with it, however that ends.
    """
    global function_of_worker
    function_of_worker = function
    threading.Thread(target=end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def end_with_parent() -> None:
    """End this process when its parent has ended: it would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def work(item: Any) -> Any:
    """Return what the worker's function gives for an item."""
    return function_of_worker(item)
