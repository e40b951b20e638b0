"""A GPU's work captured as CUDA graphs: one call starts all of its kernels."""

from collections import Counter
from collections.abc import Callable
from copy import deepcopy
from functools import partial

import torch

from nmt.data.batch import Batch
from nmt.device import captured

WARM_UP = 2  # calls in which kernels are compiled and loaded, and lasting tensors are made


class Graphs:
    """A function of batches of few shapes, which changes tensors in place and returns nothing.

    The first calls with a shape run as they are. Then the function's work is captured, and replayed
    with each further batch: what it reads besides must be tensors that live as long as the graphs.
    Its random numbers depend on torch's seed as they do without a graph.
    """

    def __init__(self, function: Callable[..., None]):
        self.function = function
        self.stream = torch.cuda.Stream()
        self.calls: Counter[tuple] = Counter()
        self.memory = torch.cuda.graph_pool_handle()
        # By shape: the graph's replay, and the batch, or none, whose tensors it reads
        self.captured: dict[tuple, tuple[Callable[[], None], tuple[Batch, ...]]] = {}

    def __call__(self, *batch: Batch) -> None:
        """Call the function with a batch, or with none."""
        shape = tuple(part.target_out.shape for part in batch)
        self.calls[shape] += 1
        if self.calls[shape] <= WARM_UP:
            self.run_beside(*batch)
            return
        if shape not in self.captured:
            copy = deepcopy(batch)
            work = partial(self.function, *copy)
            self.captured[shape] = captured(work, self.memory, self.stream), copy
        replay, own = self.captured[shape]
        for part, new in zip(own, batch, strict=True):
            torch._foreach_copy_(part.tensors, new.tensors)
        replay()

    def run_beside(self, *batch: Batch) -> None:
        """Call the function on a stream of its own, as what is to be captured must have been."""
        current = torch.cuda.current_stream()
        self.stream.wait_stream(current)
        with torch.cuda.stream(self.stream):
            self.function(*batch)
        current.wait_stream(self.stream)
