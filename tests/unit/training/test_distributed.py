"""Where the processes of a training meet."""

from nmt.training import distributed


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
