"""What the machine can do, and how much of it training uses."""

import platform
import resource
import time
from dataclasses import dataclass

import torch

from nmt.configuration import Experiment
from nmt.data.batches import Share
from nmt.models.flops import products, training_flops
from nmt.models.protocol import Model

AUTOCAST = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Machine:
    """One process's device: `peak` is its rate in FLOP/s; `products` are those of the model (nmt.models.flops),
    `source_products` those where the source is learned as well."""

    device: torch.device
    peak: float
    products: dict[str, float]
    source_products: dict[str, float] | None = None

    @classmethod
    def of(cls, device: torch.device, experiment: Experiment, model: Model) -> "Machine":
        """Measures the device's peak; the model must be on the CPU."""
        training = experiment.training
        peak = matrix_product_rate(device, AUTOCAST[training.precision] or torch.get_default_dtype())
        return cls(device, peak, products(model), products(model, source_too=True) if training.source_loss else None)

    def flops(self, share: Share, source_too: bool) -> float:
        """Of one update, all processes together."""
        counted = self.source_products if source_too else self.products
        return training_flops(counted, len(share.sentences), share.source_tokens, share.target_tokens)

    def memory(self) -> int:
        """The most bytes that were taken at a time so far."""
        if self.device.type == "cuda":
            return torch.cuda.max_memory_allocated(self.device)
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def best_device(number: int = 0) -> torch.device:
    """The GPU of that number, or the CPU where there is none."""
    return torch.device("cuda", number) if torch.cuda.is_available() else torch.device("cpu")


def device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.processor() or platform.machine()} CPU"


@torch.no_grad()
def matrix_product_rate(device: torch.device, dtype: torch.dtype) -> float:
    """FLOP/s of a large matrix product, the best of some: what a device can do at most with this type."""
    size, times = (8192, 20) if device.type == "cuda" else (1024, 5)
    one = torch.ones(size, size, dtype=dtype, device=device)
    other, seconds = one.clone(), []
    for _ in range(times + 1):  # the first one loads kernels
        start = time.perf_counter()
        torch.mm(one, other)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / min(seconds)
