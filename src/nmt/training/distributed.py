"""The processes that train together, as torchrun starts them; without it there is one."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from nmt.errors import UserError
from nmt.training.machine import best_device


@dataclass(frozen=True)
class Processes:
    """This process's number among `size`, and its device. The methods are called by all of them at the same point."""

    device: torch.device
    rank: int = 0
    size: int = 1

    @property
    def first(self) -> bool:
        """Whether it is this process that writes files and messages."""
        return self.rank == 0

    def total(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.size > 1:
            values = values.clone()
            dist.all_reduce(values)
        return values

    def any(self, *flags: bool) -> list[bool]:
        """Of each flag whether it is set in any process; no GPU is waited for."""
        if self.size == 1:
            return list(flags)
        values = torch.tensor(flags, dtype=torch.int32)
        dist.all_reduce(values, dist.ReduceOp.MAX)
        return [bool(value) for value in values]

    def wait(self) -> None:
        """Until all are here."""
        self.any(False)


@contextmanager
def joined() -> Iterator[Processes]:
    """Joins the processes that torchrun started, each with the GPU of its number on its machine, if there are any.

    One that fails ends the others, whose UserError says so; its own message comes first.
    """
    number = int(os.environ.get("LOCAL_RANK", 0))
    device = best_device(number)
    if device.type == "cuda":
        torch.cuda.set_device(device)
    if "LOCAL_RANK" not in os.environ:
        yield Processes(device)
        return
    dist.init_process_group()  # gloo for tensors on the CPU, NCCL for those on a GPU
    processes = Processes(device, dist.get_rank(), dist.get_world_size())
    if not processes.first:
        logging.getLogger().setLevel(logging.ERROR)
    try:
        yield processes
    except RuntimeError as error:
        if not isinstance(error, dist.DistError) and "gloo" not in str(error):
            raise
        raise UserError("another process of this training has ended: its message says why.") from error
    dist.destroy_process_group()
