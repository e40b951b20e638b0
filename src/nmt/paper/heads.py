"""The figure of self-attention: lines between two copies of a sentence (AIAYN figures 3 to 5)."""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection

from nmt.paper.drawing import COLORS, Drawing, Picture, new_figure, nothing
from nmt.paper.heatmaps import recorded

# Lines of smaller weights are not drawn.
LEAST_WEIGHT = 0.05
MOST_HEADS = 8
# With more subwords, a panel takes the width of the page.
SUBWORDS_OF_A_COLUMN = 26
# Inches of a panel, with the words above and below its lines
PANEL_HEIGHT = 2.25


def self_attention(drawing: Drawing) -> Picture:
    """Draw the heads of the encoder's last layer but one, as AIAYN does, each on a panel.

    They are those of the table's first row that has some.
    """
    for run in drawing.first_runs:
        values = recorded(run)
        layers = values.maps.get("encoder self-attention")
        if layers:
            break
    else:
        return nothing("No row of this table has encoder self-attention.")
    words = values.source
    layer = list(layers)[max(0, len(layers) - 2)]
    heads = layers[layer][:MOST_HEADS]  # (H, S, S)

    columns = 1 if len(words) > SUBWORDS_OF_A_COLUMN else 2
    rows = math.ceil(len(heads) / columns)
    figure = new_figure(rows * PANEL_HEIGHT)
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    lines = []
    for number, (axes, weights) in enumerate(zip(grid, heads, strict=False), start=1):
        draw_panel(axes, weights, words, COLORS[(number - 1) % len(COLORS)])
        axes.set_title(f"{layer}, head {number}")
        for query, key in np.argwhere(weights >= LEAST_WEIGHT):
            line = (layer, number, query, words[query], key, words[key], weights[query, key])
            lines.append(line)
    for axes in grid[len(heads) :]:
        axes.set_visible(False)
    names = ["layer", "head", "query_position", "query", "key_position", "key", "weight"]
    note = f"{drawing.title(run.experiment)}. No line is of less than {LEAST_WEIGHT}"
    return Picture(figure, pd.DataFrame(lines, columns=names), values.shown, (run,), note)


def draw_panel(axes: Axes, weights: np.ndarray, words: list[str], color: str) -> None:
    """Draw the lines of a head's weights (S, S) between two copies of the sentence."""
    pairs = np.argwhere(weights >= LEAST_WEIGHT)
    drawn = weights[weights >= LEAST_WEIGHT]
    lines = LineCollection(
        [[(query, 1), (key, 0)] for query, key in pairs],
        color=color,
        alpha=np.clip(0.15 + 0.85 * drawn, 0, 1),
        linewidths=0.4 + 2.2 * drawn,
    )
    axes.add_collection(lines)
    axes.set(xlim=(-0.7, len(words) - 0.3), ylim=(0, 1), yticks=[])
    axes.grid(False)
    for copy in (axes, axes.secondary_xaxis("top")):
        copy.set_xticks(range(len(words)), words, rotation=90)
        copy.tick_params(length=0, pad=1)
        copy.spines[:].set_visible(False)
