"""The figure of gradient norms: by layer, before and after training, and of all while training."""

import math

import pandas as pd
from matplotlib.axes import Axes

from nmt.paper.drawing import (
    PAGE,
    Drawing,
    Picture,
    count_large,
    new_figure,
    nothing,
    number_logarithmic,
)

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
    for experiment in dict.fromkeys(run.experiment for run in drawing.trainings):
        last.plot([], [], **drawing.style(experiment))  # a row of the legend
    last.set(title="of all parameters, in training", xlabel="updates", xlim=(0, None))
    count_large(last.xaxis)
    grid[0].set_yscale("log")
    number_logarithmic(grid[0].yaxis, subs=(1,))
    grid[0].set_ylabel("gradient norm")
    note = "E: of the encoder; D: of the decoder. Means over seeds."
    data = pd.concat([layers, updates.assign(state="in training")], ignore_index=True)
    return Picture(figure, data, "Training set", drawing.trainings, note, last)


def layer_points(drawing: Drawing) -> pd.DataFrame:
    """Return the norm of each row's layers in both states, without what is in no stack."""
    points = []
    for run in drawing.trainings:
        norms = run.read("gradients.json", list(STATES))
        for state in STATES:
            for name, norm in norms[state].items():
                part, _, layer = name.partition(" ")
                if part in PARTS:
                    points.append((run.experiment, state, part, int(layer), norm))
    columns = ["experiment", "state", "part", "layer"]
    frame = pd.DataFrame(points, columns=[*columns, "norm"])
    return frame.groupby(columns, sort=False).mean().reset_index()


def update_points(drawing: Drawing) -> pd.DataFrame:
    """Return the norm of the whole gradient that each row recorded, by update."""
    points = [
        {"experiment": run.experiment, "update": line["update"], "norm": line["gradient_norm"]}
        for run in drawing.trainings
        for line in run.metrics()
        if line.get("gradient_norm") is not None
    ]
    frame = pd.DataFrame(points, columns=["experiment", "update", "norm"])
    return frame.groupby(["experiment", "update"], sort=False).mean().reset_index()


def draw_layers(axes: Axes, drawing: Drawing, points: pd.DataFrame) -> None:
    """Draw a line for each row and part."""
    highest = points.groupby("part").layer.max()
    places: dict[tuple[str, int], str] = {}  # the layers from left to right, and their names
    for part in [part for part in PARTS if part in highest]:
        for layer in range(1, highest[part] + 1):
            places[part, layer] = f"{PARTS[part]}{layer}"
    order = {layer: place for place, layer in enumerate(places)}
    for (experiment, part), row in points.groupby(["experiment", "part"], sort=False):
        x = [order[str(part), layer] for layer in row.layer]
        axes.plot(x, row.norm, **drawing.style(str(experiment)))
    # Of deep stacks some layers are named, so far apart that names do not overlap.
    step = math.ceil(len(places) / MOST_NAMED)
    axes.set_xticks(range(0, len(places), step), list(places.values())[::step], size=6.5)
    axes.set_xlim(-0.5, len(places) - 0.5)
    axes.set_xlabel("layer")
