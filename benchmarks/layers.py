"""Measure time and memory of AIAYN Table 1's layer types against the length n and the width d.

Of a forward and backward pass on two sentences: the median time of several rounds, interleaved, and
what the layer keeps for its backward pass beside its input and weights.
"""

import argparse
import statistics

import pandas as pd
import torch
import torch.nn.functional as F
from harness import arguments, device_of, write
from torch import Tensor, nn

from nmt import command
from nmt.training.speed import now

BATCH, HEADS, KERNEL = 2, 4, 3


def attend(x: Tensor) -> Tensor:
    """Attend from each position to all, without projections, as Table 1 counts it."""
    heads = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)  # (B, n, d) -> (B, H, n, d/H)
    weights = F.softmax(heads @ heads.mT * heads.size(-1) ** -0.5, dim=-1)
    return (weights @ heads).transpose(1, 2).flatten(2)


# The module of a width, and how it is applied: (B, n, d) -> (B, n, d)
LAYERS = {
    "self-attention, O(n²·d)": (lambda d: nn.Identity(), lambda _, x: attend(x)),
    "recurrent, O(n·d²)": (
        lambda d: nn.LSTM(d, d, batch_first=True),
        lambda lstm, x: lstm(x)[0],
    ),
    "convolutional, O(k·n·d²)": (
        lambda d: nn.Conv1d(d, d, KERNEL, padding="same"),
        lambda convolution, x: convolution(x.mT).mT,
    ),
}


def main(args: argparse.Namespace) -> None:
    """Measure every layer at every size once a round, and print a table."""
    device = device_of(args)
    sizes = dict.fromkeys([*((n, 256) for n in args.sizes), *((256, d) for d in args.sizes)])
    rounds: dict[tuple, list[tuple[float, int]]] = {}
    for _ in range(args.rounds + 1):  # the first one allocates memory and chooses kernels
        for n, d in sizes:
            for name in LAYERS:
                rounds.setdefault((name, n, d), []).append(one_pass(name, n, d, device))
    lines = []
    for (name, n, d), values in rounds.items():
        milliseconds = 1000 * statistics.median(seconds for seconds, _ in values[1:])
        megabytes = values[0][1] / 1e6
        cells = {"ms": f"{milliseconds:.2f}", "MB": f"{megabytes:.2f}"}
        lines.append({"layer": name, "n": n, "d": d, **cells})
    print(write(args, pd.DataFrame(lines), device), end="")


def one_pass(name: str, n: int, d: int, device: torch.device) -> tuple[float, int]:
    """Return the seconds of a forward and backward pass, and the bytes kept in between."""
    torch.manual_seed(1)
    build, apply = LAYERS[name]
    layer = build(d).to(device)
    x = torch.randn(BATCH, n, d, device=device, requires_grad=True)
    known = {tensor.untyped_storage().data_ptr() for tensor in (x, *layer.parameters())}
    kept: dict[int, int] = {}

    def keep(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    begun = now(device)
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        y = apply(layer, x)
    y.sum().backward()
    seconds = now(device) - begun
    return seconds, sum(size for address, size in kept.items() if address not in known)


if __name__ == "__main__":
    parser = arguments(__doc__)
    size = command.whole_number(4)
    parser.add_argument("--sizes", type=size, nargs="+", default=[64, 128, 256, 512, 1024])
    command.run(main, parser)
