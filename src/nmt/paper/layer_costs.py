"""Time and memory of AIAYN's layer types, as measure_layers.py measured them: table and figure."""

from pathlib import Path

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter, NullLocator

from nmt.errors import UserError
from nmt.paper.cells import Sheet
from nmt.paper.complexity import exponent
from nmt.paper.csv_files import read_csv
from nmt.paper.drawing import COLORS, DASHES, MARKERS, PAGE, Drawing, Picture, finish, new_figure
from nmt.paper.layer_types import KERNEL, LAYER_TYPES, NEIGHBORS

FILE = "layers.csv"  # in the folder of a reproduction
# What was measured, by its column
AMOUNTS = {
    "forward_ms": "forward time",
    "backward_ms": "backward time",
    "forward_mb": "forward memory",
    "mb": "memory of both",
}
AXES = {"n": "length n", "d": "width d"}
# What measure_layers.py writes
COLUMNS = (
    *("layer", "n", "d", "round", "batch", "forward_seconds", "backward_seconds"),
    *("forward_bytes", "bytes", "device", "threads", "torch", "commit"),
)


def layer_costs(folder: Path) -> tuple[pd.DataFrame, str]:
    """Return the medians over rounds for each layer, n and d; and on what they were measured.

    folder: that of a reproduction. Raises UserError when nothing was measured.
    """
    path = folder / FILE
    if not path.exists():
        raise UserError(f"{path} is missing: let `snakemake layers` or measure_layers.py make it.")
    rows = read_csv(path, COLUMNS, "`snakemake layers` makes it again")
    medians = rows.groupby(["layer", "n", "d"], sort=False).median(numeric_only=True).reset_index()
    data = medians[["layer", "n", "d"]].copy()
    data.insert(1, "title", [LAYER_TYPES[name].title for name in data.layer])
    data["forward_ms"] = 1e3 * medians.forward_seconds
    data["backward_ms"] = 1e3 * medians.backward_seconds
    data["forward_mb"] = medians.forward_bytes / 1e6
    data["mb"] = medians.bytes / 1e6
    data["commit"] = rows.commit.iloc[0]
    first = rows.iloc[0]
    where = (
        f"Measured on {first.device}, threads: {first.threads}, torch {first.torch}: batches of"
        f" {first.batch} sequences in float32, k = {KERNEL}, r = {NEIGHBORS}; medians of"
        f" {rows['round'].max()} interleaved rounds. Memory: the most that is allocated at a time"
        " beside weights and input, forward and in both passes."
    )
    return data, where


def along(data: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Return the rows in which `axis`, n or d, varies: the other one is what most rows have."""
    other = "d" if axis == "n" else "n"
    common = data.groupby(other)[axis].nunique().idxmax()
    return data[data[other] == common].sort_values(axis, kind="stable")


def layers_sheet(folder: Path) -> Sheet:
    """Return the exponents of time and memory beside Table 1's, and all that was measured.

    folder: that of a reproduction.
    """
    data, where = layer_costs(folder)
    parts = [exponent_cells(along(data, axis), axis) for axis in AXES]
    for amounts in (("forward_ms", "backward_ms"), ("forward_mb", "mb")):
        parts += [size_cells(along(data, axis), axis, amounts) for axis in AXES]
    by_n, by_d = along(data, "n"), along(data, "d")
    notes = [
        f"{where} Commit {data.commit.iloc[0]}.",
        f"Exponents: fitted by least squares of the logarithms over n from {by_n.n.min():,} to"
        f" {by_n.n.max():,} with d = {by_n.d.iloc[0]:,}, and over d from {by_d.d.min():,} to"
        f" {by_d.d.max():,} with n = {by_d.n.iloc[0]:,}. Printed: those of operations (Vaswani et"
        " al. 2017, Table 1), which hold in the limit: small sizes are dominated by what does not"
        " grow.",
        "Time: forward + backward pass. Memory: forward pass / both.",
    ]
    return Sheet("Time and memory of layers (beside AIAYN Table 1)", parts, data, notes)


def exponent_cells(rows: pd.DataFrame, axis: str) -> pd.DataFrame:
    """Return the fitted exponents of all amounts, beside the printed one of operations."""
    cells = []
    for name, row in rows.groupby("layer", sort=False):
        layer_type = LAYER_TYPES[str(name)]
        printed = layer_type.exponents[list(AXES).index(axis)] if layer_type.exponents else ""
        line = {"layer": layer_type.title, f"exponent of {axis}, printed": str(printed)}
        for column, label in AMOUNTS.items():
            line[f"exponent of {axis}, {label}"] = (
                f"{exponent(list(row[axis]), list(row[column])):.2f}".replace("-", "−")
            )
        cells.append(line)
    return pd.DataFrame(cells)


def size_cells(rows: pd.DataFrame, axis: str, amounts: tuple[str, str]) -> pd.DataFrame:
    """Return two amounts of each layer at each size, in one cell."""
    is_time = amounts[0].endswith("ms")
    label, sign = ("ms", " + ") if is_time else ("MB", " / ")
    cells = []
    for name, row in rows.groupby("layer", sort=False):
        line = {"layer": LAYER_TYPES[str(name)].title}
        for _, values in row.iterrows():
            pair = [three_digits(values[column]) for column in amounts]
            line[f"{label}, {axis}\u00a0=\u00a0{values[axis]:,}"] = sign.join(pair)
        cells.append(line)
    return pd.DataFrame(cells)


def three_digits(value: float) -> str:
    """Return a number with three significant digits, and never with an exponent."""
    return f"{float(f'{value:.3g}'):,.10g}"


def layers(drawing: Drawing) -> Picture:
    """Draw time and memory of both passes against n and d, logarithmically."""
    data, where = layer_costs(drawing.folder.parent / drawing.reproduction.name)
    data["both_ms"] = data.forward_ms + data.backward_ms
    figure = new_figure(PAGE, 3.6)
    grid = figure.subplots(2, 2, sharex="col", sharey="row")
    panels = (("both_ms", "time (ms)"), ("mb", "memory (MB)"))
    for row, (column, label) in zip(grid, panels, strict=True):
        for axes, axis in zip(row, AXES, strict=True):
            draw_costs(axes, along(data, axis), axis, column)
        row[0].set_ylabel(label)
    for axes, (axis, label) in zip(grid[-1], AXES.items(), strict=True):
        rows = along(data, axis)
        other = "d" if axis == "n" else "n"
        axes.set_xlabel(f"{label} ({other} = {rows[other].iloc[0]:,})")
    note = f"{where} Both axes are logarithmic; forward and backward pass together."
    return Picture(finish(figure, note, grid[0, 0]), data)


def draw_costs(axes: Axes, rows: pd.DataFrame, axis: str, column: str) -> None:
    """Draw a line for each layer."""
    for number, (name, row) in enumerate(rows.groupby("layer", sort=False)):
        axes.plot(
            row[axis],
            row[column],
            color=COLORS[number % len(COLORS)],
            linestyle=DASHES[number % len(DASHES)],
            marker=MARKERS[number % len(MARKERS)],
            markersize=3,
            label=LAYER_TYPES[str(name)].title,
        )
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted(set(rows[axis]))
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_locator(LogLocator(numticks=6))
    axes.yaxis.set_major_formatter("{x:,g}")
    axes.yaxis.set_minor_formatter(NullFormatter())
