"""The figure of gradient norms: by layer, before and after training, and of all while training."""

import pandas as pd

from nmt.paper.curves import curve_points
from nmt.paper.drawing import PAGE, Drawing, Picture, count_large, new_figure, number_logarithmic

# What measure_gradients.py wrote, and the panels' titles
STATES = {"untrained": "by layer, before training", "trained": "by layer, after training"}


def gradient_norms(drawing: Drawing) -> Picture:
    """Draw each row's gradient norms, as the means over its seeds, on logarithmic axes."""
    layers = layer_norms(drawing)
    updates = curve_points(drawing, ["gradient_norm"]).rename(columns={"mean": "norm"})
    figure = new_figure(PAGE, 2.2)
    *grid, last = figure.subplots(1, 3, sharey=True)
    for axes, (state, title) in zip(grid, STATES.items(), strict=True):
        for _, points in layers[layers.state == state].groupby("part", sort=False):
            drawing.plot(axes, points, "depth", "norm")
        axes.set(title=title, xlabel="layer, the encoder's first")
    drawing.plot(last, updates, "update", "norm")
    last.set(title="of all parameters, in training", xlabel="updates", xlim=(0, None))
    for axes in (*grid, last):
        count_large(axes.xaxis)
    grid[0].set_yscale("log")
    number_logarithmic(grid[0].yaxis)
    grid[0].set_ylabel("gradient norm")
    note = "Means over seeds; the layers of encoder and decoder are a line each."
    data = pd.concat([layers, updates.assign(state="in training")], ignore_index=True)
    return Picture(figure, data, "Training set", drawing.trainings, note, last)


def layer_norms(drawing: Drawing) -> pd.DataFrame:
    """Return the norm of each row's layers in both states, by depth from 1 on through its parts."""
    parts = []
    for run in drawing.trainings:
        norms = pd.DataFrame(run.read("gradients.json", STATES))
        norms = norms[norms.index.str.contains(" ")]  # what is in a stack, such as "encoder 1"
        part, depth = norms.index.str.split().str[0], range(1, 1 + len(norms))
        parts.append(norms.assign(experiment=run.experiment, part=part, depth=depth))
    keys = ["experiment", "part", "depth", "state"]
    layers = pd.concat(parts).melt(keys[:-1], list(STATES), "state", "norm")
    return layers.groupby(keys, sort=False).mean().reset_index()
