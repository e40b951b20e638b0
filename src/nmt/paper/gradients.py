"""The figure of gradient norms: by layer, before and after training, and of all while training."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

from nmt.paper.drawing import PAGE, Drawing, Picture, new_figure, nothing

# The parts of models that are stacks of layers, and how the axis names their layers
PARTS = {"encoder": "E", "decoder": "D", "layer": ""}
MOST_NAMED = 12  # layers on an axis
# What measure_gradients.py wrote, and the panels' titles
STATES = {"untrained": "by layer, before training", "trained": "by layer, after training"}


def gradient_norms(drawing: Drawing) -> Picture:
    """Draw each row's gradient norms, as the means over its seeds, on logarithmic axes."""
    layers = layer_points(drawing)
    updates = update_points(drawing)
    if layers.empty:
        return nothing("No row of this table has layers on top of each other.")
    figure = new_figure(PAGE, 2.2)
    *grid, last = figure.subplots(1, 3, sharey=True)
    for axes, (state, title) in zip(grid, STATES.items(), strict=True):
        draw_layers(axes, drawing, layers[layers.state == state])
        axes.set_title(title)
    for experiment, row in updates.groupby("experiment", sort=False):
        style = drawing.style(str(experiment)) | {"marker": "", "label": None}
        last.plot(row["update"], row.norm, **style, linewidth=0.8)
    for experiment in dict.fromkeys(run.experiment for run in drawing.single_runs):
        last.plot([], [], **drawing.style(experiment))  # a row of the legend
    last.set(title="of all parameters, in training", xlabel="updates", xlim=(0, None))
    last.xaxis.set_major_locator(MaxNLocator(4))
    last.xaxis.set_major_formatter(EngFormatter(sep=""))
    grid[0].set_yscale("log")
    grid[0].yaxis.set_major_locator(LogLocator(numticks=7))
    grid[0].yaxis.set_major_formatter("{x:g}")
    grid[0].yaxis.set_minor_formatter(NullFormatter())
    grid[0].set_ylabel("gradient norm")
    note = "E: of the encoder; D: of the decoder. Means over seeds."
    data = pd.concat([layers, updates.assign(state="in training")], ignore_index=True)
    return Picture(figure, data, "Training set", drawing.single_runs, note, last)


def layer_points(drawing: Drawing) -> pd.DataFrame:
    """Return the norm of each row's layers in both states, without what is in no stack."""
    points = [
        {
            "experiment": run.experiment,
            "state": state,
            "part": part,
            "layer": int(layer.partition(" ")[2]),
            "norm": norm,
        }
        for run in drawing.single_runs
        for state in STATES
        for layer, norm in run.read("gradients.json", list(STATES))[state].items()
        if (part := layer.partition(" ")[0]) in PARTS
    ]
    columns = ["experiment", "state", "part", "layer", "norm"]
    frame = pd.DataFrame(points, columns=columns)
    return frame.groupby(columns[:-1], sort=False).mean().reset_index()


def update_points(drawing: Drawing) -> pd.DataFrame:
    """Return the norm of the whole gradient that each row recorded, by update."""
    points = [
        {"experiment": run.experiment, "update": line["update"], "norm": line["gradient_norm"]}
        for run in drawing.single_runs
        for line in run.metrics()
        if line.get("gradient_norm") is not None
    ]
    frame = pd.DataFrame(points, columns=["experiment", "update", "norm"])
    return frame.groupby(["experiment", "update"], sort=False).mean().reset_index()


def draw_layers(axes: Axes, drawing: Drawing, points: pd.DataFrame) -> None:
    """Draw a line for each row and part."""
    highest = points.groupby("part").layer.max()
    heights = {part: int(highest[part]) for part in PARTS if part in highest}
    layers = [(part, layer) for part in heights for layer in range(1, heights[part] + 1)]
    places = {layer: place for place, layer in enumerate(layers)}
    for (experiment, part), row in points.groupby(["experiment", "part"], sort=False):
        x = [places[str(part), layer] for layer in row.layer]
        axes.plot(x, row.norm, **drawing.style(str(experiment)))
    # Of deep stacks some layers are named, from the first, so far apart that names do not overlap.
    step = math.ceil(len(layers) / MOST_NAMED)
    named = [
        (part, layer)
        for part, height in heights.items()
        for layer in range(1, max(2, height + 2 - step), step)
    ]
    labels = [f"{PARTS[part]}{layer}" for part, layer in named]
    axes.set_xticks([places[layer] for layer in named], labels, size=6.5)
    axes.set_xlim(-0.5, len(layers) - 0.5)
    axes.set_xlabel("layer")
