"""Items in chunks, on which processes work side by side, in order and bounded memory."""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from itertools import islice
from multiprocessing import parent_process
from typing import Any, TypeVar

from nmt.errors import UserError

CHUNK = 10_000  # lines or pairs
WAITING_PER_PROCESS = 2  # chunks that are held in memory for each process

Item = TypeVar("Item")


def chunked(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the items in lists of CHUNK, the last of which may be shorter."""
    iterator = iter(items)
    while chunk := list(islice(iterator, CHUNK)):
        yield chunk


def in_processes(
    make: Callable[..., Callable[[Item], Any]], arguments: tuple, items: Iterable[Item], jobs: int
) -> Iterator[Any]:
    """Yield make(*arguments)(item) for each item, in order, computed by `jobs` processes.

    Each process makes its own function once. Few items are held in memory at a time. With one job
    this process computes them itself.

    Raises UserError when a process is killed, as by lack of memory.
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


recipe: tuple[Callable[..., Callable], tuple]  # of a worker's function


def start_worker(*recipe_of_function: Any) -> None:
    """Tell a worker how its function is made.

    It leaves Ctrl-C to its parent, and ends with it, however that ends.
    """
    global recipe
    recipe = recipe_of_function
    threading.Thread(target=end_with_parent, daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def end_with_parent() -> None:
    """End this process when its parent has ended: it would wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def worker_function() -> Callable[[Any], Any]:
    """Return the function of this worker, made with its first item: its errors reach the parent."""
    make, arguments = recipe
    return make(*arguments)


def work(item: Any) -> Any:
    """Return what the worker's function gives for an item."""
    return worker_function()(item)
