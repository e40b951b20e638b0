"""The signals that ask training to save its state and stop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Yield a list that is filled when a signal asks to stop.

    A second Ctrl-C ends a training of one process at once. A second SIGTERM does not: where all
    processes of a job are signaled, torchrun passes its own on as well, as it does after a second
    Ctrl-C.
    """
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1)
    handlers_before = {number: signal.getsignal(number) for number in numbers}

    def stop(number: int, _: object) -> None:
        received.append(number)
        if number == signal.SIGINT:
            signal.signal(number, handlers_before[signal.SIGINT])

    for number in numbers:
        signal.signal(number, stop)
    try:
        yield received
    finally:
        for number, handler in handlers_before.items():
            signal.signal(number, handler)
