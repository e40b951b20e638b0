"""The time of an update by the roofline model (Williams et al. 2009), kernel by kernel.

A kernel takes as long as its products at the device's peak or its bytes at the bandwidth, whichever
is more. A GPU computes while the host launches the next kernels: an update takes as long as the
slower of the two. A CPU does both by itself, one after the other.
"""

import time
from dataclasses import dataclass, replace

import torch

from nmt.configuration import Experiment
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.planning.kernels import Count, Kernel, count_update
from nmt.planning.meta import META
from nmt.planning.texts import Texts
from nmt.training.machine import least_tokens, matrix_product_rate

# Of the printed peak and bandwidth, what large products and large copies reach
PRODUCTS_REACH = 0.7
COPIES_REACH = 0.85
LAUNCH = 5e-6  # seconds of the host for an operation of PyTorch with its share of autograd
SHORTEST = 2e-6  # seconds that the smallest kernel takes a GPU
LARGE = 2**23  # bytes of a tensor far beyond a CPU's nearest caches


@dataclass(frozen=True)
class Device:
    """What a device does in a second at best.

    peaks: FLOP/s of dense products by type. bandwidth: bytes/s. launch: seconds of the host for a
    kernel. shortest: seconds of the smallest kernel. overlaps: whether the host launches kernels
    while others run.
    """

    title: str
    peaks: dict[torch.dtype, float]
    bandwidth: float
    launch: float = LAUNCH
    shortest: float = SHORTEST
    overlaps: bool = True

    def peak(self, kernel: Kernel) -> float:
        """Return the FLOP/s of products in a kernel's type."""
        return self.peaks.get(kernel.dtype, self.peaks[torch.float32])

    def seconds(self, kernel: Kernel) -> float:
        """Return the seconds that the device is busy with a kernel."""
        return max(kernel.flops / self.peak(kernel), kernel.bytes / self.bandwidth, self.shortest)


@dataclass(frozen=True)
class Prediction:
    """The predicted seconds of an update, and what they are made of.

    products, bytes: seconds of the kernels that the peak bounds, and of those that the bandwidth
    does. launches: seconds of the host. memory: in bytes. target_tokens: of the update.
    """

    seconds: float
    products: float
    bytes: float
    launches: float
    memory: float
    target_tokens: int

    @property
    def bound(self) -> str:
        """What most of the time goes to: products, bytes or launches."""
        parts = {"products": self.products, "bytes": self.bytes}
        if self.launches > self.products + self.bytes:
            return "launches"
        return max(parts, key=lambda part: parts[part])

    @property
    def tokens_per_second(self) -> float:
        """Target tokens a second, EOS counted."""
        return self.target_tokens / self.seconds


def gpu(title: str, bfloat16: float, float32: float, bandwidth: float) -> Device:
    """Return a GPU from the numbers of its data sheet: dense FLOP/s and bytes/s."""
    peaks = {torch.bfloat16: bfloat16, torch.float16: bfloat16, torch.float32: float32}
    reached = {dtype: PRODUCTS_REACH * peak for dtype, peak in peaks.items()}
    return Device(title, reached, COPIES_REACH * bandwidth)


# NVIDIA's data sheets, SXM, without sparsity
GPUS = {
    "a100": gpu("NVIDIA A100 80 GB", 312e12, 19.5e12, 2.039e12),
    "h100": gpu("NVIDIA H100 SXM", 989e12, 67e12, 3.35e12),
    "h200": gpu("NVIDIA H200 SXM", 989e12, 67e12, 4.8e12),
}


def this_cpu() -> Device:
    """Measure this CPU with torch's present number of threads."""
    cpu = torch.device("cpu")
    peaks = {dtype: matrix_product_rate(cpu, dtype) for dtype in (torch.float32, torch.bfloat16)}
    x = torch.ones(LARGE // 4)
    y = torch.ones(LARGE // 4)
    bandwidth = 3 * LARGE / best_seconds(lambda: x.add(y))
    small = torch.ones(8)
    launch = best_seconds(lambda: small.add(small))
    return Device("this CPU", peaks, bandwidth, launch, shortest=0.0, overlaps=False)


def best_seconds(operation, repetitions: int = 20) -> float:
    """Return the seconds of the fastest of several calls."""
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        operation()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def predict(count: Count, device: Device) -> Prediction:
    """Return the predicted time of an update on a device."""
    products = 0.0
    moved = 0.0
    launches = 0.0
    for kernels, repeats in ((count.micro_batches, count.repeats), (count.step, 1.0)):
        launches += repeats * len(kernels) * device.launch
        for kernel in kernels:
            seconds = repeats * device.seconds(kernel)
            if kernel.flops and kernel.flops / device.peak(kernel) >= device.seconds(kernel):
                products += seconds
            else:
                moved += seconds
    busy = products + moved
    seconds = max(busy, launches) if device.overlaps else busy + launches
    return Prediction(seconds, products, moved, launches, count.memory, count.target_tokens)


def predict_training(experiment: Experiment, texts: Texts, device: Device) -> Prediction:
    """Return the prediction of the first update of a training."""
    train = texts.load("train")
    device_type = torch.device("meta" if device.overlaps else "cpu")
    partition = Partition(least_tokens=least_tokens(device_type, experiment.model))
    batches = Batches.for_training(train, experiment.training, seed=1)
    batch = next(batches.updates(1, 0, partition, META))
    if experiment.training.precision == "tf32" and device.overlaps:
        # Tensor cores take TF32 at half the rate of bfloat16.
        tf32 = device.peaks[torch.bfloat16] / 2
        device = replace(device, peaks=device.peaks | {torch.float32: tf32})
    return predict(count_update(experiment, train.meta["vocabulary_sizes"], batch), device)
