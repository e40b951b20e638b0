"""Start a real SLURM on this machine: two nodes on the loopback interface, two fake GPUs each.

Everything is in one folder, no service of the system is touched, and nobody else can connect. It
takes Debian's packages slurm-wlm and munge.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from nmt.training.stopping import seconds

PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch", "srun", "squeue", "scontrol", "scancel")
CLIENTS = ("sbatch", "srun", "squeue", "scancel", "scontrol", "sinfo", "sacct", "sacctmgr")
NODES = ("node1", "node2")
CPUS = 4
MEMORY = 8000  # MB a node
PARTITIONS = {
    "cpu": "Default=YES PriorityTier=10",
    "gpu": "Default=NO PriorityTier=10",
    "urgent": "Default=NO PriorityTier=100 PreemptMode=OFF",
}

SLURM_CONF = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
# The port where ranks meet follows from the job: those of clusters side by side must differ.
FirstJobId={controller_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
# A job that was requeued may start again after cred_expire: 120 s unless it is given.
AuthInfo=socket={folder}/munge/socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
GresTypes=gpu
# This machine may have fewer cores and less memory than the nodes are said to have.
SlurmdParameters=config_overrides
ReturnToService=2
MailProg=/bin/true
JobRequeue=1
KillWait=5
SlurmctldTimeout=30
SlurmdTimeout=30
SchedulerParameters=batch_sched_delay=0,sched_interval=5,bf_interval=1,sched_min_interval=0
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
"""


class Cluster:
    """A SLURM in a folder."""

    def __init__(self, folder: Path):
        self.folder = folder.resolve()
        self.environment = os.environ | {
            "SLURM_CONF": str(self.folder / "slurm.conf"),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}:/usr/sbin",
        }

    def start(self) -> None:
        """Write the configuration, start all daemons and wait until both nodes take jobs.

        Raises RuntimeError where one does not come up.
        """
        self.configure()
        try:
            munge = self.folder / "munge"
            self.daemon(
                "munged",
                f"--key-file={munge / 'key'}",
                f"--socket={munge / 'socket'}",
                f"--pid-file={self.folder / 'munged.pid'}",
                f"--log-file={self.folder / 'munged.log'}",
                f"--seed-file={munge / 'seed'}",
            )
            self.wait("munged", lambda: (munge / "socket").exists())
            self.daemon("slurmctld")
            self.wait("slurmctld", lambda: "is UP" in self.run("scontrol", "ping"))
            for node in NODES:
                self.daemon("slurmd", "-N", node)
            self.wait("the nodes", self.is_idle)
        except BaseException:
            self.stop()
            raise

    def is_idle(self) -> bool:
        """Whether both nodes take jobs and have none."""
        return self.run("sinfo", "-hNp", "gpu", "-o%t") == "idle\nidle"

    def configure(self) -> None:
        """Write the files of a fresh cluster."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("bin", "munge", "state", *(f"spool/{node}" for node in NODES)):
            (self.folder / name).mkdir(parents=True)
        # munged refuses a socket that others cannot reach
        for path in (self.folder, self.folder / "munge"):
            path.chmod(0o755)
        key = self.folder / "munge" / "key"
        key.touch(mode=0o600)
        key.write_bytes(secrets.token_bytes(128))
        host = socket.gethostname().partition(".")[0]
        ports = free_ports(1 + len(NODES))
        user = subprocess.check_output(["id", "-un"], text=True).strip()
        lines = [
            SLURM_CONF.format(host=host, folder=self.folder, controller_port=ports.pop(), user=user)
        ]
        for node in NODES:
            lines.append(
                f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={ports.pop()}"
                f" CPUs={CPUS} RealMemory={MEMORY} Gres=gpu:fake:2 State=UNKNOWN\n"
            )
        for name, options in PARTITIONS.items():
            lines.append(
                f"PartitionName={name} Nodes={','.join(NODES)} {options} MaxTime=1-00:00:00"
                " DefaultTime=00:05:00 GraceTime=20 State=UP\n"
            )
        (self.folder / "slurm.conf").write_text("".join(lines))
        # A GPU counts only where a character device stands for it.
        (self.folder / "gres.conf").write_text(
            "AutoDetect=off\n"
            f"NodeName={','.join(NODES)} Name=gpu Type=fake Flags=nvidia_gpu_env"
            " File=/dev/null,/dev/zero\n"
        )
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        # Snakemake's plugin drops SLURM_CONF from the environment of job steps.
        for client in CLIENTS:
            shim = self.folder / "bin" / client
            shim.write_text(
                f'#!/bin/sh\nSLURM_CONF={self.folder}/slurm.conf exec /usr/bin/{client} "$@"\n'
            )
            shim.chmod(0o755)

    def daemon(self, *command: str) -> None:
        """Start a daemon, which goes into the background by itself."""
        subprocess.run(
            command,
            env=self.environment,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "start.log").open("a"),
        )

    def run(self, *command: str) -> str:
        """Return what a SLURM program prints, nothing where it fails."""
        process = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=20
        )
        return process.stdout.strip()

    def wait(self, what: str, is_up: Callable[[], bool]) -> None:
        """Wait until a daemon answers; raises RuntimeError after two minutes."""
        end = time.monotonic() + 120
        while not is_up():
            if time.monotonic() > end:
                raise RuntimeError(f"{what} did not come up, see {self.folder}/*.log")
            time.sleep(0.05)

    def node_of(self, job: str) -> str:
        """Return the node that a job runs on, nothing where it does not run."""
        return self.run("squeue", "-h", f"-j{job}", "-tR", "-o%N")

    def seconds_left(self, job: str) -> float:
        """Return the seconds until a job's time limit."""
        return seconds(self.run("squeue", "-h", f"-j{job}", "-o%L"))

    def cut_power(self, node: str) -> None:
        """Kill the node's daemon and all that its jobs have started, and tell the controller."""
        # In the environment of all that runs on this cluster, and on no other
        ours = {f"SLURMD_NODENAME={node}", f"SLURM_CONF={self.folder}/slurm.conf"}
        daemons = {int((self.folder / f"{node}.pid").read_text())}
        jobs = set()
        for path in Path("/proc").glob("[0-9]*"):
            try:
                if ours <= {*(path / "environ").read_text(errors="replace").split("\0")}:
                    jobs.add(int(path.name))
                    parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
                    if Path(f"/proc/{parent}/comm").read_text() == "slurmstepd\n":
                        daemons.add(parent)
            except OSError:
                continue
        # The daemons first: they must not report how the jobs end.
        for number in [*daemons, *jobs]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        # Or it would wait for SlurmdTimeout.
        self.run("scontrol", "update", f"nodename={node}", "state=down", "reason=test")

    def power_up(self, node: str) -> None:
        """Start the node's daemon again."""
        self.daemon("slurmd", "-N", node)
        self.run("scontrol", "update", f"nodename={node}", "state=resume")

    def stop(self) -> None:
        """End all jobs and daemons."""
        if (self.folder / "slurmctld.pid").exists():
            self.run("scancel", "--full", "--signal=KILL", "--state=RUNNING")
            self.run("scancel", "--state=PENDING")
        for name in (*NODES, "slurmctld", "munged"):
            pid_file = self.folder / f"{name}.pid"
            if not pid_file.exists():
                continue
            pid = int(pid_file.read_text())
            for number in (signal.SIGTERM, signal.SIGKILL):
                if not end_process(pid, number):
                    break


def end_process(pid: int, number: int) -> bool:
    """Send a signal and wait up to five seconds; return whether the process still runs."""
    try:
        os.kill(pid, number)
        for _ in range(100):
            time.sleep(0.05)
            os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def free_ports(count: int) -> list[int]:
    """Return ports that nobody listens on, and no connection takes by itself.

    Each process begins at others, so that clusters started at once get different ones.
    """
    ports: list[int] = []
    port = 10000 + os.getpid() * 10 % 9000
    while len(ports) < count:
        port += 1
        with socket.socket() as one_socket, contextlib.suppress(OSError):
            one_socket.bind(("127.0.0.1", port))
            ports.append(port)
    return ports


def missing_programs() -> list[str]:
    """Return the programs that the cluster takes and this machine lacks."""
    path = f"{os.environ['PATH']}:/usr/sbin"
    return [program for program in PROGRAMS if shutil.which(program, path=path) is None]
