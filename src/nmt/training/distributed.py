"""The processes that train together, as torchrun starts them; without it there is one."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

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
        """Return the sum over all ranks."""
        if self.world_size > 1:
            values = values.clone()
            dist.all_reduce(values)
        return values

    def any(self, *flags: bool) -> list[bool]:
        """Return for each flag whether it is set on any rank; no GPU is waited for."""
        return [bool(value) for value in self.max(*flags)]

    def max(self, *values: int) -> list[int]:
        """Return the largest of all ranks for each value; no GPU is waited for."""
        if self.world_size == 1:
            return list(values)
        largest = torch.tensor(values, dtype=torch.int64)
        dist.all_reduce(largest, dist.ReduceOp.MAX)
        return largest.tolist()

    def barrier(self) -> None:
        """Wait until all ranks are here."""
        self.any(False)


@contextmanager
def process_group(gpus: int = 0) -> Iterator[ProcessGroup]:
    """Join the processes that torchrun or launch.py started, each with a GPU of its own.

    gpus: how many the job was given; with none, GPUs are used where there are some.
    One that fails ends the others, whose UserError says so; its own message comes first.
    """
    device = choose_device(gpus)
    if "LOCAL_RANK" not in os.environ:
        yield ProcessGroup(device)
        return
    # gloo for tensors on the CPU, NCCL for those on a GPU
    dist.init_process_group(timeout=LONGEST_WAIT)
    group = ProcessGroup(device, dist.get_rank(), dist.get_world_size())
    if not group.is_main:
        logging.getLogger().setLevel(logging.ERROR)
    try:
        yield group
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):
            raise
        if "timed out" in str(error).lower():
            raise UserError(
                f"another process of this training has not answered for {LONGEST_WAIT}: look at"
                " what it does, and run the same command to go on."
            ) from error
        raise UserError(
            "another process of this training has ended: its message says why."
        ) from error
    dist.destroy_process_group()
