"""The processes of a training: where they meet, and what one says when others do not answer."""

import pytest

from nmt.errors import UserError
from nmt.training import distributed


def test_a_lost_process_is_one_sentence(monkeypatch):
    monkeypatch.setenv("RANK", "0")
    for name in ("init_process_group", "destroy_process_group"):
        monkeypatch.setattr(distributed.dist, name, lambda **_: None)
    monkeypatch.setattr(distributed.dist, "get_rank", lambda: 0)
    monkeypatch.setattr(distributed.dist, "get_world_size", lambda: 2)
    with pytest.raises(UserError, match="another process"), distributed.process_group():
        raise RuntimeError("[gloo/pair.cc:553] Connection closed by peer")


def test_srun_s_tasks_meet_on_the_first_node_of_their_step(monkeypatch, tmp_path):
    assert distributed.variables_of_slurm() == {}
    nodes = 'case "$*" in *"show node node[7-9]") echo NodeName=node7 NodeAddr=10.0.0.7 X=1;'
    (tmp_path / "scontrol").write_text(f"#!/bin/sh\n{nodes} echo NodeAddr=10.0.0.8;; esac\n")
    (tmp_path / "scontrol").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    for name, value in {
        "JOB_ID": 5,
        "STEP_ID": 3,
        "STEP_NUM_TASKS": 6,
        "STEP_NODELIST": "node[7-9]",
        "PROCID": 4,
        "LOCALID": 1,
    }.items():
        monkeypatch.setenv(f"SLURM_{name}", str(value))
    assert distributed.variables_of_slurm() == {
        "RANK": "4",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "6",
        "MASTER_ADDR": "10.0.0.7",
        "MASTER_PORT": "20508",
    }
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")
    assert distributed.variables_of_slurm() == {}
