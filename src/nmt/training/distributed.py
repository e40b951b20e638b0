"""The processes that train together, as torchrun or srun starts them; without these there is one.

workflow/launch.sh says how. torchrun's are on one machine, and nobody else can reach them; those of
srun trust the network between their nodes.
"""

import logging
import os
import re
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from nmt.device import choose_device
from nmt.errors import UserError

# The first rank measures BLEU on the dev set while the others wait.
LONGEST_WAIT = timedelta(hours=6)


@dataclass(frozen=True)
class ProcessGroup:
    """This process's rank among `world_size`, and its device.

    All processes call its methods at the same point.
    """

    device: torch.device
    rank: int = 0
    world_size: int = 1

    @property
    def is_main(self) -> bool:
        """Whether it is this process that writes files and messages."""
        return self.rank == 0

    def sum(self, values: Tensor) -> Tensor:
        """Return the sums over all ranks."""
        values = values.clone()
        self.sum_(values)
        return values

    def any(self, *flags: bool) -> list[bool]:
        """Return for each flag whether it is set on any rank; no GPU is waited for."""
        if self.world_size == 1:
            return list(flags)
        largest = torch.tensor(flags, dtype=torch.int64)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        return [bool(flag) for flag in largest]

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        self.any(False)

    def sum_(self, values: Tensor) -> None:
        """Replace the values by their sums over all ranks."""
        if self.world_size > 1:
            dist.all_reduce(values)

    def share_parameters(self, model: nn.Module) -> None:
        """Give all ranks the first one's: machines may compute initial ones differently."""
        if self.world_size > 1:
            for parameter in model.parameters():
                dist.broadcast(parameter.detach(), 0)


@contextmanager
def process_group(gpus: int = 0) -> Iterator[ProcessGroup]:
    """Join the processes that torchrun or srun started, each with a GPU of its own.

    gpus: how many the job was given; with none, GPUs are used where there are some.
    One that fails ends the others, whose UserError says so; its own message comes first.
    """
    if "RANK" not in os.environ:
        os.environ.update(variables_of_slurm())
    device = choose_device(gpus)
    if "RANK" not in os.environ:
        yield ProcessGroup(device)
        return
    # gloo for tensors on the CPU, NCCL for those on a GPU
    dist.init_process_group(timeout=LONGEST_WAIT, **meeting_of_torchrun())
    group = ProcessGroup(device, dist.get_rank(), dist.get_world_size())
    if not group.is_main:
        logging.getLogger().setLevel(logging.ERROR)
    try:
        yield group
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):
            raise
        raise UserError(
            "another process of this training has ended, or does not answer: its message says why."
        ) from error
    dist.destroy_process_group()


def meeting_of_torchrun() -> dict[str, Any]:
    """Return arguments for processes that torchrun started, {} for others: to meet in a file.

    It is in torchrun's folder, which only its user can read, and they talk on the loopback device.
    """
    if "TORCHELASTIC_ERROR_FILE" not in os.environ:
        return {}
    loopback = next(name for _, name in socket.if_nameindex() if name.startswith("lo"))
    os.environ.update(GLOO_SOCKET_IFNAME=loopback, NCCL_SOCKET_IFNAME=loopback)
    rank, size = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE"))
    file = Path(os.environ["TORCHELASTIC_ERROR_FILE"]).parents[1] / "store"
    return {"store": dist.FileStore(str(file), size), "rank": rank, "world_size": size}


def variables_of_slurm() -> dict[str, str]:
    """Return torch's variables for a task that srun started beside others, {} for any other.

    The tasks meet on the first node, at a port of their step below those that systems give away.
    """
    if int(os.environ.get("SLURM_STEP_NUM_TASKS", 1)) == 1:
        return {}
    nodes = ["scontrol", "--oneliner", "show", "node", os.environ["SLURM_STEP_NODELIST"]]
    described = subprocess.run(nodes, capture_output=True, text=True, check=False).stdout
    address = re.search(r"NodeAddr=(\S+)", described)
    if not address:
        raise UserError("scontrol does not tell the address of the training's first node.")
    step = 101 * int(os.environ["SLURM_JOB_ID"]) + int(os.environ["SLURM_STEP_ID"])
    return {
        "RANK": os.environ["SLURM_PROCID"],
        "LOCAL_RANK": os.environ["SLURM_LOCALID"],
        "WORLD_SIZE": os.environ["SLURM_STEP_NUM_TASKS"],
        "MASTER_ADDR": address[1],
        "MASTER_PORT": str(20000 + step % 12000),
    }
