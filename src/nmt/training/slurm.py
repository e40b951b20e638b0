"""What a training asks of SLURM: to be run again, where a time limit or a preemption stopped it."""

import logging
import os
import subprocess
import time

SECONDS_TO_BE_KILLED = 600


def in_job() -> bool:
    """Return whether this process belongs to a SLURM job."""
    return "SLURM_JOB_ID" in os.environ


def requeue() -> bool:
    """Put this process's job back into the queue, and wait until SLURM ends it.

    Returns False where the job is no longer running, as one that was canceled, or may not be run
    again. For whoever waits for the job, it has neither failed nor ended.
    """
    job = os.environ["SLURM_JOB_ID"]
    state = output_of("squeue", "--noheader", f"--jobs={job}", "--format=%T")
    if state != "RUNNING":
        logging.info(f"SLURM job {job} is {state or 'not known'}: it is not run again.")
        return False
    if output_of("scontrol", "requeue", job) is None:
        logging.warning(f"SLURM does not run job {job} again: submit it anew to go on.")
        return False
    logging.info(f"SLURM runs job {job} again, which goes on from here.")
    time.sleep(SECONDS_TO_BE_KILLED)
    return True


def output_of(*command: str) -> str | None:
    """Return what a program prints, or None where it fails or is not there."""
    try:
        process = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() if process.returncode == 0 else None
