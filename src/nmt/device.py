"""The device that a process computes on: a GPU of its own, or the CPU."""

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, Any, TypeVar

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from nmt.errors import UserError
from nmt.files import lock, no_link

# Rows of logits held at a time. Those of few positions stay in a CPU's caches. On a GPU they are as
# many as fit into so many bytes: each further chunk reads and writes the weights' gradient again.
CPU_ROWS = 512
GPU_BYTES = 2**30

Result = TypeVar("Result")

# The locks that this process holds as long as it lives, by the GPU's name
CLAIMS: dict[str, IO[str]] = {}


def choose_device(gpus: int = 0) -> torch.device:
    """Return a GPU that no other process here has claimed, or the CPU where torch has no GPU.

    gpus: how many GPUs the job was given. With one or more nothing runs on the CPU, or on a GPU
    that has work already: raises UserError.
    """
    if not torch.cuda.is_available():
        if gpus:
            raise UserError(f"a GPU was asked for and torch can use none: {reason_for_no_gpu()}.")
        return torch.device("cpu")
    count = torch.cuda.device_count()
    index = claim([str(torch.cuda.get_device_properties(i).uuid) for i in range(count)])
    if index is None:
        if gpus:
            raise UserError(
                f"a GPU was asked for, and all that are seen here ({count}) have work of yours"
                f" already: let fewer run at a time (snakemake --resources gpu={count})."
            )
        index = int(os.environ.get("LOCAL_RANK", 0)) % count
        logging.warning(f"every GPU here has work already: GPU {index} gets more.")
    device = torch.device("cuda", index)
    torch.cuda.set_device(device)
    torch.backends.cudnn.allow_tf32 = False  # float32 is float32
    # cuDNN's attention, which torch prefers on an H100, is planned anew for each shape, in about a
    # second: see fused_attention.
    torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def fused_attention() -> AbstractContextManager[None]:
    """Return a context in which a GPU may use cuDNN's attention, the fastest for one shape."""
    backends = [SDPBackend.CUDNN_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    return sdpa_kernel(backends, set_priority=True)


def reason_for_no_gpu() -> str:
    """Return why torch can use no GPU, as it says itself."""
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        return str(error).partition("\n")[0].rstrip(".")
    return "it sees none; CUDA_VISIBLE_DEVICES may hide them"


def claim(names: Sequence[str]) -> int | None:
    """Return the index of the first GPU that no other process of this user holds, and hold it.

    None: all are held. Snakemake counts the GPUs that jobs get, but does not say which.
    """
    for index, name in enumerate(names):
        if name in CLAIMS:
            return index
        path = Path(tempfile.gettempdir()) / f"nmt-{os.getuid()}-{name}.lock"
        file = open(path, "a", opener=no_link)  # noqa: SIM115
        if lock(file):
            CLAIMS[name] = file
            return index
        file.close()
    return None


def rows_per_chunk(device: torch.device, row_bytes: int) -> int:
    """Return how many rows of logits, each of so many bytes, are held at a time."""
    return CPU_ROWS if device.type == "cpu" else max(1, GPU_BYTES // row_bytes)


def captured(
    function: Callable[[], Result], memory: Any = None, stream: torch.cuda.Stream | None = None
) -> Callable[[], Result]:
    """Return a function that does on a GPU what this one does, by one graph of all its kernels.

    function: what it changes are tensors, in place, and it asks the GPU for no value. What it
    returns is overwritten by the next call. memory: a pool that graphs share of which none works
    beside another or leaves anything behind. stream: one on which graphs that outlive others are
    captured, as cuBLAS's memory of a stream goes with its first graph.
    """
    graph = torch.cuda.CUDAGraph()
    # Another thread may load the next batch meanwhile.
    with torch.cuda.graph(graph, memory, stream, capture_error_mode="thread_local"):
        result = function()

    def replay() -> Result:
        graph.replay()
        return result

    return replay


def autocast(device: torch.device, dtype: torch.dtype | None) -> AbstractContextManager[None]:
    """Return a context in which matrix products are computed in `dtype`.

    dtype: None for that of the tensors. torch has no autocast for the meta device, on which nothing
    is computed.
    """
    if device.type == "meta":
        return nullcontext()
    return torch.autocast(device.type, dtype, enabled=dtype is not None)


@contextmanager
def enough_memory(task: str, remedy: str) -> Iterator[None]:
    """Raise UserError when the device has not enough memory for the task."""
    try:
        yield
    except RuntimeError as error:
        if "can't allocate memory" in str(error) or isinstance(error, torch.OutOfMemoryError):
            raise UserError(f"there is not enough memory for {task}: {remedy}.") from None
        raise
