"""What stops a training before its end, a signal or SLURM's time limit, and how it goes on later.

Training asks for the limit itself, because SLURM's signal of a coming one does not reach what a
job's own process has started: with proctrack/cgroup, the usual one, it goes to that process alone.
"""

import logging
import math
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from nmt.training.distributed import ProcessGroup

SECONDS_BEFORE_LIMIT = 120
SECONDS_TO_BE_KILLED = 600


@dataclass
class Stopped(Exception):
    """A signal or a time limit stopped training; its state is on disk.

    by_hand: whether it was Ctrl-C, and not a service that ends the job.
    """

    by_hand: bool


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Yield a list that is filled when SIGINT, SIGTERM, SIGHUP or SIGUSR1 asks to stop.

    A second Ctrl-C ends a training of one process at once. A second SIGTERM does not: where all
    processes of a job are signaled, torchrun passes its own on as well.
    """
    received: list[int] = []
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
    handlers = {number: signal.getsignal(number) for number in numbers}
    handlers_before = {n: handler for n, handler in handlers.items() if handler != signal.SIG_IGN}

    def stop(number: int, _: object) -> None:
        received.append(number)
        if number == signal.SIGINT:
            signal.signal(number, handlers_before[signal.SIGINT])

    for number in handlers_before:  # what is ignored, as SIGHUP by nohup, stays so
        signal.signal(number, stop)
    try:
        yield received
    finally:
        for number, handler in handlers_before.items():
            signal.signal(number, handler)


class TimeLimit:
    """The time limit of this process's SLURM job; without a job there is none."""

    def __init__(self) -> None:
        left = seconds(of_job("%L") or "") if in_job() else math.inf
        self.last_update = time.monotonic()
        self.end = self.last_update + left
        self.longest_update = 0.0  # in seconds, with the validation and the state after it

    def is_near(self) -> bool:
        """Return, after each update, whether the state has to be written now."""
        moment = time.monotonic()
        self.longest_update = max(self.longest_update, moment - self.last_update)
        self.last_update = moment
        return moment + self.longest_update + SECONDS_BEFORE_LIMIT >= self.end


def seconds(text: str) -> float:
    """Return SLURM's 1-02:03:04, 2:03:04 or 3:04 in seconds; what is no time is infinite."""
    fields = re.fullmatch(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)", text)
    if not fields:
        return math.inf
    days, hours, minutes, rest = (int(field or 0) for field in fields.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + rest


def in_job() -> bool:
    """Return whether this process belongs to a SLURM job."""
    return "SLURM_JOB_ID" in os.environ


def go_on_later(group: ProcessGroup) -> None:
    """Put the job of a stopped training back into the queue, and wait until SLURM ends it.

    For whoever waits for the job, it has then neither failed nor ended. Returns at once where SLURM
    does not run the job again. All ranks call it: one that ended would end the others.
    """
    # SLURM ends what it queues again by SIGTERM.
    with suppress(KeyboardInterrupt):
        (is_queued,) = group.any(group.is_main and requeue())
        if is_queued:
            time.sleep(SECONDS_TO_BE_KILLED)


def requeue() -> bool:
    """Put this process's job back into the queue.

    Returns False where the job is no longer running, as one that was canceled, or may not be run
    again.
    """
    job, state = os.environ["SLURM_JOB_ID"], of_job("%T")
    if state != "RUNNING":
        logging.info(f"SLURM job {job} is {state or 'not known'}: it is not run again.")
        return False
    # Logged before the call: after it, SLURM may end this process at any moment.
    logging.info(f"SLURM is asked to run job {job} again, which goes on from here.")
    if output_of("scontrol", "requeue", job) is None:
        logging.warning(f"SLURM does not run job {job} again: submit it anew to go on.")
        return False
    return True


def of_job(field: str) -> str | None:
    """Return a field of this process's job in squeue's format, or None without an answer."""
    job = os.environ["SLURM_JOB_ID"]
    return output_of("squeue", "--noheader", f"--jobs={job}", f"--format={field}")


def output_of(*command: str) -> str | None:
    """Return what a program prints, or None where it fails or is not there."""
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() if process.returncode == 0 else None
