"""A copy of the repository whose jobs go through a SLURM of our own."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from nmt.files import read_json
from nmt.models.weights import load_tensors
from tests.slurm.cluster import Cluster
from tests.support.workflows import TINY, copy_repository, environment

HERE = Path(__file__).parent
UPDATES = 600
PATIENCE = 1200  # seconds: what hangs takes so long, a busy machine does not
PROFILE = "profiles/slurm/config.yaml"


class Workplace:
    """A copy of the repository, and the cluster's programs."""

    def __init__(self, folder: Path, cluster: Cluster, updates: int = UPDATES):
        self.folder = copy_repository(folder)
        self.cluster = cluster
        self.updates = updates
        self.config: dict[str, object] = {"updates": updates}
        # Snakemake does not quote the path of Python in its jobs.
        environment_link = cluster.folder / "environment"
        # Another place's snakemake may be starting by it
        if not environment_link.is_symlink():
            environment_link.symlink_to(sys.prefix)
        self.python = environment_link / "bin/python"
        self.environment = environment(self.folder) | {
            key: cluster.environment[key] for key in ("SLURM_CONF", "PATH")
        }
        self.write_profile()

    def write_profile(self, **of_training: object) -> None:
        """Write the profile for this cluster: no GPUs that compute, an hour at most, quick answers.

        of_training: further resources of trainings.
        """
        profile = yaml.safe_load((self.folder / PROFILE).read_text())
        for resources in profile["set-resources"].values():
            resources.pop("gpu", None)
            resources["mem_mb"] = 2000
        training = profile["set-resources"]["train"]
        training |= {"runtime": 30, "slurm_partition": "gpu", **of_training}
        profile["set-threads"] = {"train": 1}
        profile |= {"cores": 2, "latency-wait": 5, "slurm-init-seconds-before-status-checks": 1}
        folder = self.folder / "profile"
        folder.mkdir(exist_ok=True)
        (folder / "config.yaml").write_text(yaml.safe_dump(profile))

    @property
    def row(self) -> str:
        """The row that is trained."""
        return f"tiny-transformer+updates-{self.updates}"

    @property
    def run(self) -> Path:
        """The folder of the row's run."""
        return self.folder / "results/runs/tiny" / self.row / "seed-1"

    def snakemake(self, *arguments: str) -> subprocess.Popen:
        """Start snakemake with the cluster's profile; its messages go to snakemake.log."""
        command = [
            *[self.python, HERE / "quick_snakemake.py", *arguments],
            *[
                "--workflow-profile",
                "profile",
                "--configfile",
                TINY,
                "--config",
                *(f"{key}={value}" for key, value in self.config.items()),
            ],
        ]
        with (self.folder / "snakemake.log").open("a") as log:
            self.process = subprocess.Popen(
                list(map(str, command)),
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self.process

    def exit_code(self, seconds: float = PATIENCE) -> int:
        """Wait until the snakemake that was started last ends; return its exit code."""
        try:
            return self.process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(self.messages) from None

    def stop(self) -> None:
        """End whatever still runs here: snakemake, its jobs, and what a node that is down left."""
        for number, _ in self.queue():
            self.cluster.run("scancel", number)
        for number in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)

    def train(self) -> subprocess.Popen:
        """Start snakemake on the row's training alone."""
        return self.snakemake(str(self.run.relative_to(self.folder) / "training.json"))

    @property
    def log(self) -> str:
        """What snakemake has said so far."""
        return (self.folder / "snakemake.log").read_text()

    @property
    def training_log(self) -> str:
        """What train.py has said so far."""
        path = self.folder / "results/logs/tiny" / self.row / "seed-1/train.log"
        return path.read_text() if path.exists() else ""

    @property
    def messages(self) -> str:
        """All that was said here: by snakemake, its jobs, and the trainer; queue and nodes."""
        jobs = sorted((self.folder / ".snakemake/slurm_logs").rglob("*.log"))
        texts = [self.log, *(path.read_text(errors="replace") for path in jobs)]
        nodes = self.cluster.run("sinfo", "-hN", "-o%N %P %T %E")
        return "\n".join([*texts, self.training_log, str(self.queue()), nodes])

    def wait(self, condition: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Wait until the condition holds; fails where it never does, or snakemake fails first."""
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, self.messages
            assert (self.process.poll() or 0) <= 0, self.messages  # it was killed, or goes on
            time.sleep(0.1)

    def begin(self) -> None:
        """Start the training, and wait until it has made 40 updates."""
        self.train()
        self.wait(lambda: any(path.read_bytes().count(b"\n") >= 2 for path in self.metrics()))

    def metrics(self) -> list[Path]:
        """The files that trainings append to."""
        return list(self.run.glob("state-*/metrics.jsonl"))

    def queue(self) -> list[list[str]]:
        """Number and state of each job that was submitted here."""
        lines = self.cluster.run("squeue", "-h", "-o", "%i %T %Z").splitlines()
        fields = [line.split(maxsplit=2) for line in lines]
        return [job[:2] for job in fields if job[2] == str(self.folder)]

    def job(self) -> str:
        """The number of the one job that was submitted here and has not ended."""
        ((number, _),) = self.queue()
        return number

    def processes(self) -> dict[int, list[bytes]]:
        """The command lines of all processes that run in this folder, by number."""
        commands = {}
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if os.readlink(path / "cwd") == str(self.folder):
                    commands[int(path.name)] = (path / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
        return commands

    def trainers(self) -> list[int]:
        """The process numbers of train.py."""
        return [
            number
            for number, command in self.processes().items()
            if b"src/train.py" in command and b"srun" not in command[0]
        ]

    def weights(self) -> dict:
        """The last checkpoint of the finished training."""
        checkpoint = max((self.run / "checkpoints").glob("[0-9]*.safetensors"))
        return load_tensors(checkpoint)[0]

    def training(self) -> dict:
        """What training.json says."""
        return read_json(self.run / "training.json")
