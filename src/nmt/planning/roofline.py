"""The time of an update by the roofline model (Williams et al. 2009), kernel by kernel.

A kernel takes as long as its products at the device's peak or its bytes at the bandwidth, whichever
is more. A GPU computes while the host launches the next kernels: an update takes as long as the
slower of the two. A CPU does both by itself, one after the other.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import torch

from nmt.configuration import Experiment
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.planning.kernels import Count, Kernel, count_update
from nmt.planning.meta import META
from nmt.planning.texts import Texts
from nmt.training.machine import least_tokens

# Of the printed peak and bandwidth, what large products and large copies reach
PRODUCTS_REACH = 0.7
COPIES_REACH = 0.85
LAUNCH = 5e-6  # seconds of the host for an operation of PyTorch with its share of autograd
SHORTEST = 2e-6  # seconds that the smallest kernel takes a GPU


@dataclass(frozen=True)
class Curve:
    """A quantity y that depends on x, by points (x, y) with ascending x, all positive."""

    points: tuple[tuple[float, float], ...]

    def __call__(self, x: float) -> float:
        """Return y: between the points linear on logarithmic scales, beyond them constant."""
        xs, ys = np.log(self.points).T
        return float(np.exp(np.interp(np.log(x), xs, ys)))


@dataclass(frozen=True)
class Device:
    """What a device does in a second.

    rates: FLOP/s of matrix products by type, each by arithmetic intensity in FLOPs/byte. bandwidth:
    bytes/s by the bytes of a kernel. launch: seconds of the host for a kernel. shortest: seconds of
    the smallest kernel. overlaps: whether the host launches kernels while others run. functions:
    bytes/s of kernels, by name, whose arithmetic takes longer than their bytes.
    """

    title: str
    rates: dict[torch.dtype, Curve]
    bandwidth: Curve
    launch: float = LAUNCH
    shortest: float = SHORTEST
    overlaps: bool = True
    functions: dict[str, float] = field(default_factory=dict)

    def seconds(self, kernel: Kernel) -> tuple[float, float]:
        """Return the seconds that a kernel's products take the device, and those of its bytes."""
        products = moved = 0.0
        if kernel.flops:
            rate = self.rates.get(kernel.dtype, self.rates[torch.float32])
            products = kernel.flops / rate(kernel.flops / kernel.bytes)
        if kernel.bytes:
            bandwidth = self.bandwidth(kernel.bytes)
            moved = kernel.bytes / self.functions.get(kernel.name.rstrip("_"), bandwidth)
        return products, max(moved, self.shortest)


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
        """What most of the time goes to: compute, memory or launches."""
        parts = {"compute": self.products, "memory": self.bytes}
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
    rates = {dtype: constant(PRODUCTS_REACH * peak) for dtype, peak in peaks.items()}
    return Device(title, rates, constant(COPIES_REACH * bandwidth))


def constant(y: float) -> Curve:
    """Return the curve that is y everywhere."""
    return Curve(((1.0, y),))


# NVIDIA's data sheets, SXM, without sparsity
GPUS = {
    "a100": gpu("NVIDIA A100 80 GB", 312e12, 19.5e12, 2.039e12),
    "h100": gpu("NVIDIA H100 SXM", 989e12, 67e12, 3.35e12),
    "h200": gpu("NVIDIA H200 SXM", 989e12, 67e12, 4.8e12),
}


def predict(count: Count, device: Device) -> Prediction:
    """Return the predicted time of an update on a device."""
    products = 0.0
    moved = 0.0
    launches = 0.0
    for kernels, repeats in ((count.micro_batches, count.repeats), (count.step, 1.0)):
        launches += repeats * len(kernels) * device.launch
        for kernel in kernels:
            of_products, of_bytes = device.seconds(kernel)
            if of_products >= of_bytes:
                products += repeats * of_products
            else:
                moved += repeats * of_bytes
    busy = products + moved
    seconds = max(busy, launches) if device.overlaps else busy + launches
    return Prediction(seconds, products, moved, launches, count.memory, count.target_tokens)


def predict_training(experiment: Experiment, texts: Texts, device: Device) -> Prediction:
    """Return the prediction of the first update of a training."""
    train = texts.load("train")
    place = META if device.overlaps else torch.device("cpu")
    partition = Partition(least_tokens=least_tokens(place, experiment.model))
    batches = Batches.for_training(train, experiment.training, seed=1)
    batch = next(batches.updates(1, 0, partition, place))
    if experiment.training.precision == "tf32" and device.overlaps:
        # Tensor cores take TF32 at half the rate of bfloat16.
        tf32 = constant(device.rates[torch.bfloat16](1.0) / 2)
        device = replace(device, rates=device.rates | {torch.float32: tf32})
    count = count_update(experiment, train.meta["vocabulary_sizes"], batch, place)
    return predict(count, device)
