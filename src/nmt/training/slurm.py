"""What a training asks of SLURM: to be run again, where a time limit or a preemption stopped it."""

import logging
import math
import os
import re
import socket
import subprocess
import time
from contextlib import suppress

from nmt.errors import UserError
from nmt.training.distributed import ProcessGroup

SECONDS_TO_BE_KILLED = 600
SECONDS_BEFORE_LIMIT = 120
PAUSES = (5, 20)  # seconds, before a squeue that does not answer is asked once more
FIRST_RESERVED_STEP = 0xFFFFFFF0


def in_job() -> bool:
    """Return whether this process belongs to a SLURM job."""
    return "SLURM_JOB_ID" in os.environ


def in_step() -> bool:
    """Return whether this process belongs to a step of a job, as in `srun --pty bash`.

    A step started inside one waits for its CPUs. A batch script has no step number, and the step of
    an interactive `salloc` has one of SLURM's reserved numbers.
    """
    return int(os.environ.get("SLURM_STEP_ID", FIRST_RESERVED_STEP)) < FIRST_RESERVED_STEP


def first_host() -> str:
    """Return the host of a job's first task: this one, or the first node's of an allocation.

    Only on the nodes of a job SLURM names the node. Raises UserError where scontrol fails.
    """
    if "SLURMD_NODENAME" in os.environ:
        return socket.gethostname()
    hosts = output_of("scontrol", "show", "hostnames", os.environ["SLURM_JOB_NODELIST"])
    if not hosts:
        raise UserError("scontrol does not name the job's nodes: start from one of them.")
    return hosts.split()[0]


def end_of_training() -> float | None:
    """Return until when this process may train, by time.monotonic(): two minutes before the limit.

    Infinity where there is no job or no limit, None where squeue does not answer. Training asks by
    itself, because SLURM's signal of a coming limit does not reach what a job's own process has
    started: with proctrack/cgroup, the usual one, it goes to that process alone.
    """
    if not in_job():
        return math.inf
    left = seconds(of_job("%L") or "")
    return None if left is None else time.monotonic() + left - SECONDS_BEFORE_LIMIT


def seconds(text: str) -> float | None:
    """Return SLURM's 1-02:03:04, 2:03:04 or 3:04 in seconds, None for what is no time.

    UNLIMITED is infinite.
    """
    if text == "UNLIMITED":
        return math.inf
    fields = re.fullmatch(r"(?:(?:(\d+)-)?(\d+):)?(\d+):(\d+)", text)
    if not fields:
        return None
    days, hours, minutes, rest = (int(field or 0) for field in fields.groups())
    return 86400 * days + 3600 * hours + 60 * minutes + rest


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
    job = os.environ["SLURM_JOB_ID"]
    state = of_job("%T")
    for pause in PAUSES:
        if state is None:
            time.sleep(pause)
            state = of_job("%T")
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
