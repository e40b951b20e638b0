"""The figures of attention from target to source: heat maps."""

import textwrap
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from nmt.paper.drawing import (
    COLUMN,
    PAGE,
    Drawing,
    Picture,
    new_figure,
    nothing,
)
from nmt.paper.results import Run

CROSS = "cross-attention"
# Heads drawn besides the mean of all
HEADS_DRAWN = 2
# With more rows than FEW_ROWS that attend, only the mean of heads is drawn, on panels in
# MANY_ROWS_COLUMNS columns.
FEW_ROWS = 4
FEW_ROWS_COLUMNS = 2
MANY_ROWS_COLUMNS = 3
# Inches that a panel's title and labels need on top, and that each line of a title needs.
LABEL_HEIGHT = 0.8
TITLE_LINE_HEIGHT = 0.12
TITLE_LETTERS = 13  # an inch
# A model that is barely trained repeats itself up to the limit of length.
MOST_SUBWORDS = 40  # of a translation


@dataclass(frozen=True)
class AttentionPanel:
    """A panel of the figure of attention: weights (T, S) between target and source subwords."""

    title: str
    source: list[str]
    target: list[str]
    weights: np.ndarray


@dataclass(frozen=True)
class Recorded:
    """What record_attention.py wrote of a run's first sentence.

    maps: the weights (H, T, S), (H, S, S) or (H, T, T) by layer, by kind of attention.
    """

    sentence: str
    source: list[str]
    target: list[str]
    inputs: list[str]
    maps: dict[str, dict[str, np.ndarray]]

    @property
    def shown(self) -> str:
        """What figures of attention show, instead of a split."""
        return f"One sentence, “{self.sentence.rstrip(' .')}”"


def recorded(run: Run) -> Recorded:
    """Return the first sentence of a run's attention."""
    first = run.read("attention.json", ["sentences"])["sentences"][0]
    maps = {
        kind: {layer: np.array(heads) / 1000 for layer, heads in layers.items()}
        for kind, layers in first["maps"].items()
    }
    # sentencepiece's mark of a word's beginning is so wide that it would touch the next label.
    words = {
        key: [piece.replace("▁", "_") for piece in first[key]]
        for key in ("source", "target", "inputs")
    }
    return Recorded(sentence=first["sentence"], maps=maps, **words)


def attention(drawing: Drawing) -> Picture:
    """Draw each row's attention from each subword of its own translation to the source.

    Runs are the first of each row. Of several heads, the last layer's mean and its first heads
    are drawn; of many rows, the mean alone. Rows without attention have no panel; where none has
    any, the figure says so.
    """
    runs = {run: recorded(run) for run in drawing.first_runs}
    attending = {run: values for run, values in runs.items() if CROSS in values.maps}
    if not attending:
        return nothing("No row of this table has attention.")
    is_many = len(attending) > FEW_ROWS
    panels: list[AttentionPanel] = []
    for run, values in attending.items():
        title = drawing.title(run.experiment)
        panels += attention_panels(title, values, 0 if is_many else HEADS_DRAWN)
    columns = min(MANY_ROWS_COLUMNS if is_many else FEW_ROWS_COLUMNS, len(panels))
    cell = min(0.3, 5 / columns / max(len(panel.source) for panel in panels))  # inches
    width = int(TITLE_LETTERS * PAGE / columns)  # of titles, in letters
    lines = max(len(textwrap.wrap(panel.title, width)) for panel in panels)
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    height = LABEL_HEIGHT + TITLE_LINE_HEIGHT * lines
    heights = [max(len(panel.target) for panel in row) * cell + height for row in rows]
    figure = new_figure(PAGE, sum(heights))
    grid = figure.subplots(len(rows), columns, squeeze=False, height_ratios=heights).flatten()
    for axes, panel in zip(grid, panels, strict=False):
        image = draw_panel(axes, panel, "Blues", cell, width)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    bar: dict[str, Any] = {"shrink": 0.4, "aspect": 20, "pad": 0.02, "panchor": False}
    figure.colorbar(image, ax=grid, label="attention weight", **bar)
    shown = next(iter(attending.values())).shown
    return Picture(figure, panel_data(panels), shown, tuple(runs))


def alignment(drawing: Drawing) -> Picture:
    """Draw the alignment of the table's RNN with attention, as Bahdanau et al. 2015 draw theirs.

    Rows are the subwords of its translation, columns those of the source; white is a weight of 1.
    """
    for run in drawing.first_runs:
        if drawing.catalog.experiment(run.experiment).model.family == "rnnsearch":
            values = recorded(run)
            if CROSS in values.maps:
                break
    else:
        return nothing("No row of this table is an RNNsearch.")
    (panel,) = attention_panels(drawing.title(run.experiment), values, 0)
    cell = 2.2 / max(len(panel.source), 12)  # inches
    figure = new_figure(COLUMN, LABEL_HEIGHT + TITLE_LINE_HEIGHT + cell * len(panel.target))
    axes = figure.subplots()
    image = draw_panel(axes, panel, "gray", cell, int(TITLE_LETTERS * COLUMN))
    bar: dict[str, Any] = {"shrink": 0.5, "aspect": 20, "pad": 0.03}
    figure.colorbar(image, ax=axes, label="attention weight", **bar)
    return Picture(figure, panel_data([panel]), values.shown, (run,))


def attention_panels(title: str, values: Recorded, heads_drawn: int) -> list[AttentionPanel]:
    """Return the panels of one run: the mean of the last layer's heads, and the first heads."""
    layer, heads = list(values.maps[CROSS].items())[-1]
    heads = heads[:, :MOST_SUBWORDS]  # (H, T, S)
    target = values.target[:MOST_SUBWORDS]
    if len(values.target) > MOST_SUBWORDS:
        title += f" (first {MOST_SUBWORDS} of {len(values.target)} subwords)"
    if len(heads) == 1:
        return [AttentionPanel(title, values.source, target, heads[0])]
    drawn = {f"{title}, {layer}: mean of {len(heads)} heads": heads.mean(0)}
    for number, weights in enumerate(heads[:heads_drawn], start=1):
        drawn[f"{title}, {layer}: head {number}"] = weights
    return [AttentionPanel(name, values.source, target, drawn[name]) for name in drawn]


def draw_panel(
    axes: Axes, panel: AttentionPanel, colors: str, cell: float, title_width: int
) -> AxesImage:
    """Draw a panel with its subwords; a cell is that many inches high and wide."""
    image = heat_map(axes, panel.weights, colors, (0, 1), aspect="equal")
    font_size = min(6.5, cell * 72 * 0.85)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(panel.source)), panel.source, rotation=90, size=font_size)
    axes.set_yticks(range(len(panel.target)), panel.target, size=font_size)
    axes.tick_params(length=0, pad=2)
    axes.set_title(textwrap.fill(panel.title, title_width))
    axes.set(xlabel="source", ylabel="target (generated)")
    axes.xaxis.set_label_position("bottom")
    axes.set_anchor("N")  # translations differ in length: the tops of a row of panels are aligned
    return image


def heat_map(
    axes: Axes,
    matrix: np.ndarray,
    colors: str,
    limits: tuple[float, float],
    aspect: Literal["equal", "auto"],
) -> AxesImage:
    """Draw the matrix as it is printed: row 0 on top."""
    axes.grid(False)
    axes.spines[["top", "right"]].set_visible(True)
    return axes.imshow(
        matrix, cmap=colors, vmin=limits[0], vmax=limits[1], aspect=aspect, interpolation="nearest"
    )


def panel_data(panels: list[AttentionPanel]) -> pd.DataFrame:
    """Return a line for each cell of each panel."""
    return pd.DataFrame(
        [
            {
                "panel": panel.title,
                "target_position": row,
                "target": panel.target[row],
                "source_position": column,
                "source": panel.source[column],
                "weight": weight,
            }
            for panel in panels
            for (row, column), weight in np.ndenumerate(panel.weights)
        ]
    )
