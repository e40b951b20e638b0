"""Trainings that are stopped by SLURM or by somebody, against one that nobody stops."""

import os
import signal
import sys

import pytest
import torch

from nmt.training import stopping
from tests.slurm.workplace import UPDATES
from tests.support.workflows import snakemake


def check_finished_like(place, other):
    assert place.exit_code() == 0, place.messages
    torch.testing.assert_close(place.weights(), other.weights(), rtol=0, atol=0)


def test_the_time_limit_makes_a_chain_of_jobs(workplace, undisturbed, cluster):
    place = workplace()
    place.write_profile(runtime=4)
    place.begin()
    (trainer,) = place.trainers()
    os.kill(trainer, signal.SIGSTOP)  # or it would finish before
    number = place.job()
    place.wait(lambda: cluster.seconds_left(number) < stopping.SECONDS_BEFORE_LIMIT)
    os.kill(trainer, signal.SIGCONT)
    place.wait(lambda: f"SLURM is asked to run job {number} again" in place.training_log)
    # The next one has time, however busy this machine is.
    place.wait(lambda: [number, "PENDING"] in place.queue())
    cluster.run("scontrol", "update", f"jobid={number}", "timelimit=60")
    check_finished_like(place, undisturbed)
    assert "going on from update" in place.training_log
    assert place.log.count("has been submitted") == 1


def test_preemption_is_waited_out(workplace, undisturbed, cluster):
    place = workplace()
    place.begin()
    number = place.job()
    options = ["--parsable", "--output=/dev/null", "--exclusive", "--nodes=2", "--time=1"]
    urgent = cluster.run("sbatch", "--partition=urgent", *options, "--wrap", "sleep 5")
    place.wait(lambda: [number, "PENDING"] in place.queue())
    place.wait(lambda: urgent not in cluster.run("squeue", "-h", "-o%i"))
    check_finished_like(place, undisturbed)


def test_a_node_that_goes_down_gives_its_job_to_another(workplace, undisturbed, cluster):
    place = workplace()
    place.begin()
    node = cluster.node_of(place.job())
    cluster.cut_power(node)
    try:
        check_finished_like(place, undisturbed)
    finally:
        cluster.power_up(node)


def test_a_trainer_that_is_killed_fails_and_goes_on_when_asked_again(workplace, undisturbed):
    place = workplace()
    place.begin()
    os.kill(place.trainers()[0], signal.SIGKILL)
    assert place.exit_code() == 1, place.messages
    place.train()
    check_finished_like(place, undisturbed)


def test_a_job_that_is_canceled_does_not_come_back(workplace, cluster):
    place = workplace(100 * UPDATES)
    place.begin()
    cluster.run("scancel", place.job())
    assert place.exit_code() == 1, place.messages
    assert place.queue() == []
    assert "it is not run again" in place.training_log


def test_snakemake_does_not_start_twice_after_it_was_killed(workplace, undisturbed):
    place = workplace()
    place.begin()
    os.killpg(place.process.pid, signal.SIGKILL)
    place.process.wait()
    number = place.job()
    (trainer,) = place.trainers()
    os.kill(trainer, signal.SIGSTOP)  # or it would finish before
    place.snakemake("--unlock")
    assert place.exit_code() == 0
    place.train()
    assert place.exit_code() == 1
    assert f"SLURM job {number} of an earlier call still runs here" in place.log
    os.kill(trainer, signal.SIGCONT)
    place.snakemake("--unlock")
    assert place.exit_code() == 0
    place.wait(lambda: place.queue() == [])
    place.train()
    check_finished_like(place, undisturbed)


def test_two_nodes_train_as_two_processes_of_one(workplace):
    local = workplace()
    target = str(local.run.relative_to(local.folder) / "training.json")
    options = ["--config", f"updates={UPDATES}", "--set-threads", "train=1"]
    process = snakemake(local.folder, target, *options, "--set-resources", "train:processes=2")
    assert process.returncode == 0, process.stdout
    place = workplace()
    place.write_profile(nodes=2)
    place.train()
    check_finished_like(place, local)
    assert place.training()["made_by"][0]["processes"] == 2


def test_a_rank_that_is_killed_ends_the_job(workplace):
    place = workplace()
    place.write_profile(nodes=2)
    place.begin()
    os.kill(place.trainers()[-1], signal.SIGKILL)
    assert place.exit_code() == 1, place.messages
    assert place.trainers() == []
    place.train()
    assert place.exit_code() == 0, place.messages


def test_a_gpu_that_is_not_there_is_an_error_before_any_work(workplace, cluster):
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    place = workplace()
    place.write_profile(nodes=2, gpu=4, slurm_extra="'--gpus-per-node=2'")
    place.train()
    place.wait(lambda: place.queue())
    job = cluster.run("scontrol", "show", "job", place.job())
    assert "NumNodes=2" in job
    assert "NumTasks=4" in job  # a process for each GPU
    assert "TresPerNode=gres:gpu:2" in job
    assert place.exit_code() == 1
    assert "error: a GPU was asked for and torch can use none" in place.training_log
    assert place.log.count("has been submitted") == 1  # a second time would be no better
    assert place.metrics() == []


def test_nodes_that_might_get_different_numbers_of_gpus_are_refused(workplace):
    place = workplace(with_corpus=False)
    place.write_profile(nodes=2, gpu=4)
    place.train()
    assert place.exit_code() == 1
    assert "add --gpus-per-node=2 to train's slurm_extra" in place.log
    assert "has been submitted" not in place.log


def test_an_environment_that_no_job_can_start_is_an_error_before_any_work(workplace):
    place = workplace()
    environment = place.folder / "an environment"
    environment.symlink_to(sys.prefix)
    place.python = environment / "bin/python"
    place.train()
    assert place.exit_code() == 1
    assert f"Jobs of a cluster cannot start '{place.python}'" in place.log
    assert "has been submitted" not in place.log
