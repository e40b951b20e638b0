"""AIAYN's Table 1: as printed, and counted on the modules of this project."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

from nmt.paper.cells import Sheet, format_numbers
from nmt.paper.layer_types import KERNEL, LAYER_TYPES, NEIGHBORS, LayerType, RecurrentLayer

# Chains of operations and paths are counted at these lengths, on layers of this width.
LENGTHS = (16, 64, 256)
WIDTH = 16
# Operations are counted at these lengths and widths, the other one being the last.
COUNTED_LENGTHS = (64, 128, 256, 512)
COUNTED_WIDTHS = (64, 128, 256)


class ChainLength(TorchDispatchMode):
    """Counts the longest chain of operations of which each needs the result of the one before.

    So many steps a layer takes on a machine with any number of processors. Views and new tensors
    are no operations.
    """

    def __init__(self) -> None:
        super().__init__()
        self.lengths: dict[int, int] = {}
        self.longest = 0
        self.kept: list[Tensor] = []  # so that no address is used twice

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        """Run the operation, and note how long the chain is that ends with it."""
        result = func(*args, **(kwargs or {}))
        inputs = {address(leaf) for leaf in tree_leaves((args, kwargs)) if is_tensor(leaf)}
        outputs = [leaf for leaf in tree_leaves(result) if is_tensor(leaf)]
        self.kept += outputs
        is_view = not func._schema.is_mutable and inputs.issuperset(map(address, outputs))
        if inputs and not is_view:
            length = 1 + max(self.lengths.get(place, 0) for place in inputs)
            self.lengths.update((address(output), length) for output in outputs)
            self.longest = max(self.longest, length)
        return result


def is_tensor(value: object) -> bool:
    """Return whether a value is a tensor."""
    return isinstance(value, Tensor)


def address(x: Tensor) -> int:
    """Return where a tensor's numbers are."""
    return x.untyped_storage()._cdata


def sequential_operations(layer: nn.Module, length: int) -> int:
    """Return the longest chain of operations with which a layer transforms so many positions.

    In float64, for which torch has no recurrent kernel that would hide its steps.
    """
    x = torch.randn(1, length, WIDTH, dtype=torch.float64)
    with torch.no_grad(), ChainLength() as chain:
        layer.double()(x)
    return chain.longest


def path_length(layer_type: LayerType, length: int) -> int:
    """Return how many layers, or steps of a recurrent one, are between a sequence's two ends.

    The first position of the input is NaN, and so becomes every number that depends on it, whatever
    the weights are.
    """
    x = torch.randn(1, length, WIDTH, dtype=torch.float64)
    x[:, 0] = torch.nan
    layer = layer_type.build(WIDTH).double()
    number = 0
    with torch.no_grad():
        if isinstance(layer, RecurrentLayer):
            return sum(bool(output.isnan().any()) for output in layer.steps(x))
        while not x[:, -1].isnan().any():
            if layer_type.stack:
                layer = layer_type.stack(WIDTH, number).double()
            x = layer(x)
            number += 1
    return number


def operations(layer: nn.Module, length: int, width: int) -> int:
    """Return the multiplications and additions of a layer's matrix products and convolutions.

    In float64, as `sequential_operations`.
    """
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        layer.double()(torch.zeros(1, length, width, dtype=torch.float64))
    return counter.get_total_flops()


def exponent(sizes: Sequence[float], amounts: Sequence[float]) -> float:
    """Return b of amount = a size^b, fitted by least squares of the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(amounts), 1)[0])


def complexity_data() -> pd.DataFrame:
    """Return a line for each layer: what Table 1 prints, and what was counted."""
    torch.manual_seed(1)
    torch.set_num_threads(1)  # Layers are so small that threads would wait for each other.
    rows = []
    for name, layer_type in LAYER_TYPES.items():
        theory = layer_type.exponents or (None, None)
        row: dict[str, object] = {
            "layer": name,
            "title": layer_type.title,
            "complexity_printed": layer_type.complexity,
            "sequential_printed": layer_type.sequential,
            "path_printed": layer_type.path,
        }
        for length in LENGTHS:
            row[f"sequential_{length}"] = sequential_operations(layer_type.build(WIDTH), length)
        for length in LENGTHS:
            row[f"path_{length}"] = path_length(layer_type, length)
        width, length = COUNTED_WIDTHS[-1], COUNTED_LENGTHS[-1]
        by_length = [operations(layer_type.build(width), n, width) for n in COUNTED_LENGTHS]
        by_width = [operations(layer_type.build(d), length, d) for d in COUNTED_WIDTHS]
        row |= {"exponent_n_printed": theory[0], "exponent_d_printed": theory[1]}
        row["exponent_n"] = exponent(list(COUNTED_LENGTHS), by_length)
        row["exponent_d"] = exponent(list(COUNTED_WIDTHS), by_width)
        row["operations"] = by_length[-1]
        rows.append(row)
    return pd.DataFrame(rows)


def complexity_sheet() -> Sheet:
    """Return AIAYN's Table 1, and below it what was counted: chains, paths and operations."""
    data = complexity_data()
    layer = data.title.rename("layer")
    printed = pd.DataFrame(
        {
            "layer": layer,
            "complexity per layer": data.complexity_printed,
            "sequential operations": data.sequential_printed,
            "maximum path length": data.path_printed,
        }
    )
    counted = pd.DataFrame({"layer": layer})
    for key, label in (("sequential", "sequential operations"), ("path", "path length")):
        for length in LENGTHS:
            counted[f"{label}, n\u00a0=\u00a0{length}"] = format_numbers(
                data[f"{key}_{length}"], "{:,.0f}"
            )
    products = pd.DataFrame({"layer": layer})
    for axis in "nd":
        products[f"exponent of {axis}, printed"] = format_numbers(
            data[f"exponent_{axis}_printed"], "{:.0f}"
        )
        products[f"exponent of {axis}, counted"] = format_numbers(
            data[f"exponent_{axis}"], "{:.2f}"
        )
    size = f"n = {COUNTED_LENGTHS[-1]:,}, d = {COUNTED_WIDTHS[-1]:,}".replace(
        " = ", "\u00a0=\u00a0"
    )
    products[f"MFLOPs, {size}"] = format_numbers(data.operations / 1e6, "{:,.0f}")
    notes = [
        "Printed: Vaswani et al. 2017, Table 1, where n is the length of the sequence, d the width,"
        " k the kernel and r the neighborhood; O(n/k) from section 4. Counted: on this project's"
        f" modules, k = {KERNEL}, r = {NEIGHBORS}.",
        "Sequential operations: the longest chain of torch's operations in which each needs the"
        " result of the one before. Path length: layers, or steps of the recurrent layer, from the"
        " first position to the last, which is the longest path; a kernel reaches (k - 1)/2"
        " positions to each side, and a neighborhood (r - 1)/2.",
        "Exponents of a size: fitted to the multiplications and additions of matrix products and"
        f" convolutions, n from {COUNTED_LENGTHS[0]} to {COUNTED_LENGTHS[-1]:,}, d from"
        f" {COUNTED_WIDTHS[0]} to {COUNTED_WIDTHS[-1]:,}. The table counts self-attention without"
        " its projections, which add O(n·d²). ByteNet's dilations double, so that its paths have"
        " log_2(n) layers whatever k is.",
    ]
    return Sheet(
        "Complexity of layers (AIAYN Table 1)",
        [printed[data.path_printed != ""], counted, products],
        data,
        notes,
    )
