"""What the machine can do, and how much of it training uses."""

import platform
import shlex
import sys
import time
from dataclasses import dataclass

import torch

from nmt.configuration import GNMT, Experiment
from nmt.data.batch import UpdateBatch
from nmt.data.batches import Batches, Partition
from nmt.data.packing import Packing
from nmt.models.flops import multiply_adds, training_flops
from nmt.models.protocol import Model
from nmt.provenance import commit
from nmt.training.distributed import ProcessGroup

# Tokens of both sides for which a GPU takes about as long as for fewer. A compromise: larger groups
# have more padding, smaller ones more kernels, for which an H200 waited.
GPU_LEAST_TOKENS = 16384
AUTOCAST = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Machine:
    """What a device can do, and what a model asks of it.

    peak: the device's rate in FLOP/s. multiply_adds: the model's (nmt.models.flops), by whether the
    source is learned as well.
    """

    peak: float
    multiply_adds: dict[bool, dict[str, float]]

    @classmethod
    def of(cls, device: torch.device, experiment: Experiment, model: Model) -> "Machine":
        """Measure the device's peak, and count the products of a model on the CPU."""
        training = experiment.training
        dtype = AUTOCAST[training.precision] or torch.get_default_dtype()
        counted = {False: multiply_adds(model)}
        if training.source_loss:
            counted[True] = multiply_adds(model, source_too=True)
        return cls(matrix_product_rate(device, dtype), counted)

    def flops(self, batch: UpdateBatch, source_too: bool) -> float:
        """Return the FLOPs of one update, summed over ranks."""
        tokens = batch.source_tokens, batch.target_tokens
        return training_flops(self.multiply_adds[source_too], len(batch.sentences), *tokens)


def partition_for(
    batches: Batches,
    experiment: Experiment,
    group: ProcessGroup,
    device_tokens: int = 0,
) -> Partition:
    """Return how a rank's part of an update is divided into micro-batches.

    On a CPU, where every token costs, micro-batches stay as they are: sentences of similar lengths,
    padded. On a GPU sentences are packed where attention can keep them apart, so that
    micro-batches have few shapes. Those of other families are put together, but for experts, whose
    balance is that of a micro-batch. device_tokens: about the most tokens of a side that a device
    takes at a time; 0: no limit. All ranks get equally many chunks, as few as that allows.
    """
    least_tokens, packing = 0, None
    if group.device.type == "cuda" and experiment.model.can_be_packed:
        packing = Packing.of(int(batches.longer_sides.max(initial=0)), device_tokens)
    elif group.device.type == "cuda" and not device_tokens:
        has_experts = isinstance(experiment.model, GNMT) and experiment.model.experts
        least_tokens = 0 if has_experts else GPU_LEAST_TOKENS
    chunks = -(-batches.budget // device_tokens) if device_tokens else 1
    while batches.per_update * chunks % group.world_size:
        chunks += 1
    return Partition(group.rank, group.world_size, chunks, least_tokens, packing)


def device_name(device: torch.device) -> str:
    """Return what tables call the device."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.processor() or platform.machine()} CPU"


def made_by(device: torch.device, world_size: int) -> dict:
    """Describe this call: command, code and machine."""
    return {
        "command": shlex.join(sys.argv),
        "commit": commit(),
        "device": device_name(device),
        "processes": world_size,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


@torch.no_grad()
def matrix_product_rate(device: torch.device, dtype: torch.dtype) -> float:
    """Return the FLOP/s of a large matrix product, the best of some: what a device can do."""
    size, repetitions = (8192, 20) if device.type == "cuda" else (1024, 5)
    # Random numbers: with equal ones a GPU takes less power, and runs faster than in training.
    random = torch.Generator(device).manual_seed(0)
    a, b = torch.randn(2, size, size, dtype=dtype, device=device, generator=random)
    seconds = []
    for _ in range(repetitions + 1):  # the first one loads kernels
        start = time.perf_counter()
        torch.mm(a, b)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / min(seconds)
