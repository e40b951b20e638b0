"""The device that a process computes on: a GPU of its own, or the CPU."""

import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO

import torch

from nmt.errors import UserError
from nmt.files import lock

# Rows of logits held at a time. Those of few positions stay in a CPU's caches. On a GPU they are as
# many as fit into so many bytes: each further chunk reads and writes the weights' gradient again.
CPU_ROWS = 512
GPU_BYTES = 2**30

# The locks that this process holds as long as it lives, by name
CLAIMS: dict[Path, IO[str]] = {}


def set_threads(threads: int | None) -> None:
    """Let torch compute with this many threads; None: with all."""
    if threads:
        torch.set_num_threads(threads)


def choose_device(gpus: int = 0) -> torch.device:
    """Return a GPU that no other process here has claimed, or the CPU where torch has no GPU.

    gpus: how many GPUs the job was given. With one or more nothing runs on the CPU, or on a GPU
    that has work already: raises UserError.
    """
    require_gpu(gpus)
    if not torch.cuda.is_available():
        return torch.device("cpu")
    names = [
        str(torch.cuda.get_device_properties(index).uuid)
        for index in range(torch.cuda.device_count())
    ]
    folder = Path(tempfile.gettempdir()) / f"nmt-gpus-{os.getuid()}"
    index = claim(names, folder)
    if index is None:
        if gpus:
            raise UserError(
                f"a GPU was asked for, and all that are seen here ({len(names)}) have work of"
                f" yours already: let fewer run at a time (snakemake --resources gpu={len(names)})."
            )
        index = int(os.environ.get("LOCAL_RANK", 0)) % len(names)
        logging.warning(f"every GPU here has work already: GPU {index} gets more.")
    device = torch.device("cuda", index)
    torch.cuda.set_device(device)
    allow_tf32("float32")  # torch allows it to cuDNN
    # cuDNN's attention, which torch prefers on an H100, is planned anew for each shape, in about a
    # second: batches of sentences hardly ever have the same. Flash attention takes any.
    torch.backends.cuda.enable_cudnn_sdp(False)
    return device


def require_gpu(gpus: int) -> None:
    """Raise UserError where a job was given GPUs and torch can use none, with torch's reason."""
    if gpus and not torch.cuda.is_available():
        raise UserError(
            f"a GPU was asked for and torch can use none: {reason_for_no_gpu()} Ask for none"
            " (gpu: 0) to compute on the CPU."
        )


def reason_for_no_gpu() -> str:
    """Return torch's own words on why it can use no GPU, as a sentence."""
    try:
        torch.cuda.init()
    except (RuntimeError, AssertionError) as error:
        return str(error).strip().partition("\n")[0].rstrip(".") + "."
    return "torch sees none (CUDA_VISIBLE_DEVICES may hide them)."


def allow_tf32(precision: str) -> None:
    """Let a GPU compute products of float32 in TF32 for the precision tf32, and for no other."""
    allowed = precision == "tf32"
    torch.backends.cuda.matmul.allow_tf32 = allowed
    torch.backends.cudnn.allow_tf32 = allowed


def rows_per_chunk(device: torch.device, row_bytes: int) -> int:
    """Return how many rows of logits, each of so many bytes, are held at a time."""
    return CPU_ROWS if device.type == "cpu" else max(1, GPU_BYTES // row_bytes)


def autocast(device: torch.device, dtype: torch.dtype | None) -> AbstractContextManager[None]:
    """Return a context in which matrix products are computed in `dtype`.

    dtype: None for that of the tensors. torch has no autocast for the meta device, on which nothing
    is computed.
    """
    if device.type == "meta":
        return nullcontext()
    return torch.autocast(device.type, dtype, enabled=dtype is not None)


def autocast_dtype(device: torch.device) -> torch.dtype | None:
    """Return the type in which `autocast` computes matrix products now, None where it is off."""
    if device.type == "meta" or not torch.is_autocast_enabled(device.type):
        return None
    return torch.get_autocast_dtype(device.type)


@contextmanager
def enough_memory(task: str, remedy: str) -> Iterator[None]:
    """Raise UserError when the device has not enough memory for the task."""
    try:
        yield
    except RuntimeError as error:
        out_of_memory = isinstance(error, torch.OutOfMemoryError)
        if not out_of_memory and "can't allocate memory" not in str(error):
            raise
        raise UserError(f"there is not enough memory for {task}: {remedy}.") from None


def claim(names: Sequence[str], folder: Path) -> int | None:
    """Return the index of the first name that no other living process holds, and hold it.

    None: all are held. Where the file system has no locks, ranks get different ones.

    folder: holds a lock for each name, on this machine and for this user alone.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if folder.lstat().st_uid != os.getuid():
        raise UserError(f"{folder} belongs to another user: remove it, or set TMPDIR.")
    for index, name in enumerate(names):
        if folder / name in CLAIMS:
            return index
        file = open(folder / name, "w")  # noqa: SIM115
        locked = lock(file)
        if locked is None:
            return int(os.environ.get("LOCAL_RANK", 0)) % len(names)
        if locked:
            CLAIMS[folder / name] = file
            return index
        file.close()
    return None
