"""What this machine's CPU does in a second, measured for the roofline model."""

import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

from nmt.models.recurrent import lstm_cell
from nmt.planning.kernels import KernelCounter
from nmt.planning.roofline import Curve, Device

WIDTH = 1024  # of the square weight in products
ROWS = (4, 16, 64, 256, 1024, 4096)  # of the products' other side
ADDED = tuple(4**power for power in range(6, 14))  # bytes of tensors that are added, to 64 MB
READ = 2**20  # bytes of the tensor that functions read
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
    "exp": torch.exp,
    "_softmax": partial(torch.softmax, dim=-1),
}
STEPS = 100  # of a recurrent layer of one unit


def this_cpu() -> Device:
    """Measure this CPU with torch's present number of threads, in some seconds."""
    return Device(
        "this CPU",
        {dtype: product_rates(dtype) for dtype in (torch.float32, torch.bfloat16)},
        bandwidths(),
        launch_seconds(),
        shortest=0.0,
        overlaps=False,
        functions=function_rates(),
    )


def product_rates(dtype: torch.dtype) -> Curve:
    """Return the FLOP/s of products by their FLOPs/byte."""
    weight = torch.ones(WIDTH, WIDTH, dtype=dtype)
    points = []
    for rows in ROWS:
        x = torch.ones(rows, WIDTH, dtype=dtype)
        flops = 2 * rows * WIDTH**2
        moved = (2 * x.numel() + weight.numel()) * x.element_size()
        points.append((flops / moved, flops / median_seconds(partial(torch.mm, x, weight))))
    return Curve(tuple(points))


def bandwidths() -> Curve:
    """Return the bytes/s of additions by the bytes that they read and write."""
    points = []
    for count in ADDED:
        x, y = torch.ones(2, count // 4)
        moved = 3.0 * count
        points.append((moved, moved / median_seconds(partial(torch.add, x, y))))
    return Curve(tuple(points))


def function_rates() -> dict[str, float]:
    """Return the bytes/s, read and written, of functions that cost more than an addition."""
    x = torch.ones(WIDTH, READ // (4 * WIDTH))
    return {
        name: 2 * READ / median_seconds(partial(function, x))
        for name, function in FUNCTIONS.items()
    }


def launch_seconds() -> float:
    """Return the seconds of a kernel of a few numbers, with what a model and autograd add."""
    weight = torch.ones(4, 1, requires_grad=True)

    def update() -> None:
        hidden = cell = torch.ones(1, 1)
        for _ in range(STEPS):
            hidden, cell = lstm_cell(F.linear(hidden, weight), cell)
        hidden.sum().backward()

    with KernelCounter() as counter:
        update()
    return median_seconds(update) / len(counter.kernels)


def median_seconds(operation: Callable[[], object], repetitions: int = 20) -> float:
    """Return the median seconds of several calls."""
    seconds = []
    for _ in range(repetitions):
        start = time.perf_counter()
        operation()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)
