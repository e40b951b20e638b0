"""What the machine can do, and how much of it training uses."""

import platform
import shlex
import sys
import time
from dataclasses import dataclass

import torch

from nmt import configuration
from nmt.configuration import Experiment
from nmt.data.batch import UpdateBatch
from nmt.device import allow_tf32
from nmt.models.flops import multiply_adds, training_flops
from nmt.models.protocol import Model
from nmt.provenance import commit

# Tokens of both sides for which a GPU takes about as long as for fewer. A compromise: larger groups
# have more padding, smaller ones more kernels, for which an H200 waited (docs/performance.md).
GPU_LEAST_TOKENS = 16384
AUTOCAST = {"float32": None, "tf32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


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
        allow_tf32(training.precision)
        dtype = AUTOCAST[training.precision] or torch.get_default_dtype()
        counted = {False: multiply_adds(model)}
        if training.source_loss:
            counted[True] = multiply_adds(model, source_too=True)
        return cls(matrix_product_rate(device, dtype), counted)

    def flops(self, batch: UpdateBatch, source_too: bool) -> float:
        """Return the FLOPs of one update, summed over ranks."""
        tokens = batch.source_tokens, batch.target_tokens
        return training_flops(self.multiply_adds[source_too], len(batch.sentences), *tokens)


def least_tokens(device: torch.device, config: configuration.Model) -> int:
    """Return up to how many tokens a device's time does not grow with them (see Partition).

    0: micro-batches stay as they are, as on a CPU, where every token costs, and where a part of the
    loss depends on them.
    """
    return 0 if device.type == "cpu" or config.has_loss_of_batches else GPU_LEAST_TOKENS


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
