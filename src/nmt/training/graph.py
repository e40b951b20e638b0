"""A GPU's work captured as a CUDA graph: one call starts all of its kernels."""

from collections.abc import Callable

import torch

from nmt.data.batch import Batch

WARM_UP = 2  # calls in which kernels are compiled and loaded, and lasting tensors are made


class Graph:
    """A function of batches of one shape, which changes tensors in place and returns nothing.

    Its first calls run as they are. Then it is captured, and replayed with each further batch: what
    it reads besides must be tensors that live as long as the graph. Its random numbers depend on
    torch's seed as they do without a graph.
    """

    def __init__(self, function: Callable[..., None]):
        self.function = function
        self.calls = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.batch: tuple[Batch, ...] = ()  # the one or none whose tensors the graph reads

    def __call__(self, *batch: Batch) -> None:
        """Call the function with a batch, or with none."""
        self.calls += 1
        if self.calls <= WARM_UP:
            self.run_beside(*batch)
            return
        graph = self.graph or self.capture(*batch)
        for static, new in zip(self.batch, batch, strict=True):
            static.copy_(new)
        graph.replay()

    def run_beside(self, *batch: Batch) -> None:
        """Call the function on a stream of its own, as what is to be captured must have been."""
        current, stream = torch.cuda.current_stream(), torch.cuda.Stream()
        stream.wait_stream(current)
        with torch.cuda.stream(stream):
            self.function(*batch)
        current.wait_stream(stream)

    def capture(self, *batch: Batch) -> torch.cuda.CUDAGraph:
        """Record the function's work without doing it."""
        self.batch = batch
        self.graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize()
        with torch.cuda.graph(self.graph):
            self.function(*batch)
        return self.graph
