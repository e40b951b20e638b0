"""launch.py in a SLURM job and outside of one; srun and scontrol are stand-ins."""

import os
import re
import socket
import subprocess
import sys

import pytest

from tests.support.files import ROOT

COMMAND = [sys.executable, ROOT / "src" / "launch.py", "--processes=2", "--nodes=2", "--", "true"]


@pytest.fixture
def job(tmp_path):
    """The environment of a job whose srun prints where its tasks would meet."""
    stand_ins = {
        "srun": 'echo "$MASTER_ADDR $MASTER_PORT"',
        "scontrol": '[ "$*" = "show hostnames node[7-9]" ] && printf "node7\\nnode8\\nnode9\\n"',
    }
    for name, script in stand_ins.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM")}
    return environment | {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "5",
        "SLURM_JOB_NODELIST": "node[7-9]",
    }


@pytest.mark.parametrize(
    ("changes", "host"),
    [({"SLURMD_NODENAME": "node7"}, socket.gethostname()), ({}, "node7")],
    ids=["on a node of the job", "where salloc was called"],
)
def test_tasks_meet_on_the_first_node_at_a_port_of_their_training(job, changes, host):
    with subprocess.Popen(COMMAND, env=job | changes, stdout=subprocess.PIPE, text=True) as process:
        printed, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    # The process becomes srun, with the same number.
    assert printed.split() == [host, str(20000 + (5 + process.pid) % 12000)]


def test_several_nodes_need_a_job():
    environment = {key: value for key, value in os.environ.items() if not key.startswith("SLURM")}
    process = subprocess.run(COMMAND, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 1
    message = r"error: 2 nodes are only there in a SLURM job, outside its steps: leave out --nodes"
    assert re.search(message, process.stderr)
