"""The signals that ask training to save its state and stop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Yield a list that is filled when a signal asks to stop.

    A second Ctrl-C ends a training of one process at once; a second SIGTERM does not: where all
    processes of a job are signaled, torchrun passes on its own as well, and that for any Ctrl-C.
    """
    received: list[int] = []

    def stop(number: int, _: object) -> None:
        received.append(number)
        if number == signal.SIGINT:
            signal.signal(number, handlers_before[signal.SIGINT])

    handlers_before = {
        number: signal.signal(number, stop)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    }
    try:
        yield received
    finally:
        for number, handler in handlers_before.items():
            signal.signal(number, handler)
