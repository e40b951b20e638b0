"""Time and memory of one layer, forward and backward: the measured side of AIAYN's Table 1."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from nmt.benchmarks.training_speed import Clock
from nmt.paper.layer_types import LAYER_TYPES

BATCH = 2
LEAST_SECONDS = 0.03  # of a measurement: shorter passes are repeated


class Pass:
    """A forward and a backward pass of one layer, on the same numbers whenever it is called."""

    def __init__(self, name: str, length: int, width: int, device: torch.device):
        torch.manual_seed(1)
        self.layer: nn.Module = LAYER_TYPES[name].build(width).to(device)
        self.x = torch.randn(BATCH, length, width, device=device, requires_grad=True)
        self.gradient = torch.randn(BATCH, length, width, device=device)

    def forward(self) -> Tensor:
        """Return the layer's output: (B, n, D)."""
        y: Tensor = self.layer(self.x)
        return y

    def backward(self, y: Tensor) -> None:
        """Compute all gradients, and forget them."""
        y.backward(self.gradient)
        self.x.grad = None
        self.layer.zero_grad(set_to_none=True)


def seconds(name: str, length: int, width: int, device: torch.device) -> dict[str, float]:
    """Return the mean seconds of a layer's forward and backward pass, after one that warms up."""
    once = Pass(name, length, width, device)
    once.backward(once.forward())
    clock = Clock(device)
    totals = {"forward": 0.0, "backward": 0.0}
    passes = 0
    while sum(totals.values()) < LEAST_SECONDS:
        with clock.timed("forward"):
            y = once.forward()
        with clock.timed("backward"):
            once.backward(y)
        for name_of_pass in totals:
            totals[name_of_pass] += clock.seconds[name_of_pass]
        passes += 1
    return {f"{key}_seconds": value / passes for key, value in totals.items()}


def memory(name: str, length: int, width: int, device: torch.device) -> dict[str, int]:
    """Return the most bytes that a layer's forward pass, and both together, allocate at a time.

    The layer's weights and input are not counted.
    """
    once = Pass(name, length, width, device)
    once.backward(once.forward())
    peak = peak_on_a_gpu if device.type == "cuda" else peak_on_a_cpu
    forward = peak(lambda: once.forward())
    both = peak(lambda: once.backward(once.forward()))
    return {"forward_bytes": forward, "bytes": both}


def peak_on_a_gpu(call: Callable[[], object]) -> int:
    """Return the most bytes that were allocated during the call beyond those before it."""
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call()
    torch.cuda.synchronize()
    return torch.cuda.max_memory_allocated() - before


class LiveMemory(TorchDispatchMode):
    """Adds up the bytes of the tensors that operations make, as long as they are needed.

    peak: the most at a time. What an operation needs only while it runs is not seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.bytes: dict[StorageWeakRef, int] = {}
        self.peak = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Run the operation, and add up what is there after it."""
        # Views of tensors that were there before are not new.
        old = {storage(leaf) for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, Tensor)}
        result = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(result):
            if isinstance(leaf, Tensor) and storage(leaf) not in old:
                self.bytes[storage(leaf)] = leaf.untyped_storage().nbytes()
        self.bytes = {key: size for key, size in self.bytes.items() if not key.expired()}
        self.peak = max(self.peak, sum(self.bytes.values()))
        return result


def storage(x: Tensor) -> StorageWeakRef:
    """Return what tells whether a tensor's numbers are still needed."""
    return StorageWeakRef(x.untyped_storage())


def peak_on_a_cpu(call: Callable[[], object]) -> int:
    """Return the same of a CPU, where torch's allocator keeps no count."""
    with LiveMemory() as memory:
        call()
    return memory.peak
