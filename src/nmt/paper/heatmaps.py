"""The figures of attention from target to source: heat maps."""

import textwrap
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from nmt.paper.drawing import (
    COLUMN,
    PAGE,
    Drawing,
    Picture,
    empty_figure,
    finish,
    new_figure,
)
from nmt.paper.results import Run

# Heads drawn besides the mean of all.
HEADS_DRAWN = 2
# With more rows than FEW_ROWS that attend, only the mean of heads is drawn, on panels in
# MANY_ROWS_COLUMNS columns.
FEW_ROWS = 4
FEW_ROWS_COLUMNS = 2
MANY_ROWS_COLUMNS = 3
# Inches that a panel's title and labels need on top, and that each further line of a title needs.
LABEL_HEIGHT = 0.9
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


def attention(drawing: Drawing) -> Picture:
    """Draw each row's attention from each subword of its own translation to the source.

    Runs are the first of each row. Of several heads, the last layer's mean and its first heads
    are drawn; of many rows, the mean alone. Rows without attention have no panel; where none has
    any, the figure says so.
    """
    runs = first_runs(drawing)
    attentions = {drawing.title(run.experiment): run.attention() for run in runs}
    with_maps = {title: values for title, values in attentions.items() if values["maps"]}
    if not with_maps:
        return empty_figure(drawing, "No row of this table has attention.")
    is_many = len(with_maps) > FEW_ROWS
    panels: list[AttentionPanel] = []
    for title, values in with_maps.items():
        panels += attention_panels(title, values, 0 if is_many else HEADS_DRAWN)
    columns = min(MANY_ROWS_COLUMNS if is_many else FEW_ROWS_COLUMNS, len(panels))
    figure = attention_figure(panels, columns)
    note = "An underscore marks where a word begins."
    small_print = drawing.small_print(drawing.one_sentence, runs, note)
    return Picture(finish(figure, small_print), panel_data(panels))


def first_runs(drawing: Drawing) -> list[Run]:
    """Return the run with the first seed of each row that is not an ensemble."""
    runs: dict[str, Run] = {}
    for run in drawing.single_runs:
        runs.setdefault(run.experiment, run)
    return list(runs.values())


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


def alignment(drawing: Drawing) -> Picture:
    """Draw the alignment of the table's RNN with attention, as Bahdanau et al. 2015 draw theirs.

    Rows are the subwords of its translation, columns those of the source; white is a weight of 1.
    """
    for run in first_runs(drawing):
        model = drawing.catalog.experiment(run.experiment).model
        values = run.attention()
        if model.has_alignment_matrix and values["maps"]:
            (panel,) = attention_panels(drawing.title(run.experiment), values, 0)
            break
    else:
        return empty_figure(drawing, "No row of this table is an RNNsearch.")
    size = 2.2 / max(len(panel.source), 12)  # inches of a cell
    title = textwrap.fill(panel.title, int(TITLE_LETTERS * COLUMN))
    title_height = LABEL_HEIGHT + TITLE_LINE_HEIGHT * title.count("\n")
    figure = new_figure(COLUMN, title_height + size * len(panel.target))
    axes = figure.subplots()
    image = heat_map(axes, panel.weights, "gray", (0, 1), aspect="equal")
    font_size = min(6.5, size * 72 * 0.85)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(panel.source)), panel.source, rotation=90, size=font_size)
    axes.set_yticks(range(len(panel.target)), panel.target, size=font_size)
    axes.tick_params(length=0, pad=2)
    axes.set_title(title)
    axes.set_xlabel("source")
    axes.xaxis.set_label_position("bottom")
    axes.set_ylabel("target (generated)")
    figure.colorbar(image, ax=axes, label="attention weight", shrink=0.5, aspect=20, pad=0.03)
    note = "As Bahdanau et al. 2015, figure 3."
    small_print = drawing.small_print(drawing.one_sentence, [run], note)
    return Picture(finish(figure, small_print), panel_data([panel]))


def attention_figure(panels: list[AttentionPanel], columns: int) -> Figure:
    """Return a figure of the panels, which all have cells of the same size."""
    longest_source = max(len(panel.source) for panel in panels)
    cell = min(0.3, 5 / columns / longest_source)  # inches
    font_size = min(6.5, cell * 72 * 0.85)
    title_width = int(TITLE_LETTERS * PAGE / columns)  # letters
    title_lines = max(len(textwrap.wrap(panel.title, title_width)) for panel in panels)
    title_height = LABEL_HEIGHT + TITLE_LINE_HEIGHT * (title_lines - 1)
    rows = [panels[start : start + columns] for start in range(0, len(panels), columns)]
    heights = [max(len(panel.target) for panel in row) * cell + title_height for row in rows]
    figure = new_figure(PAGE, sum(heights))
    grid = figure.subplots(len(rows), columns, squeeze=False, height_ratios=heights).flatten()
    for axes, panel in zip(grid, panels, strict=False):
        image = heat_map(axes, panel.weights, "Blues", (0, 1), aspect="equal")
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(panel.source)), panel.source, rotation=90, size=font_size)
        axes.set_yticks(range(len(panel.target)), panel.target, size=font_size)
        axes.tick_params(length=0, pad=2)
        axes.set_title(textwrap.fill(panel.title, title_width))
        axes.set_xlabel("source")
        axes.xaxis.set_label_position("bottom")
        # Translations differ in length: align the tops of the panels of a row.
        axes.set_anchor("N")
    for axes in grid[: len(panels) : columns]:
        axes.set_ylabel("target (generated)")
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    figure.colorbar(
        image, ax=grid, label="attention weight", shrink=0.4, aspect=20, pad=0.02, panchor=False
    )
    return figure


def attention_panels(title: str, values: dict, heads_drawn: int) -> list[AttentionPanel]:
    """Return the panels of one run: the mean of the last layer's heads, and the first heads.

    values: the content of attention.json.
    """
    layer, heads = list(values["maps"].items())[-1]
    heads = np.array(heads)[:, :MOST_SUBWORDS]  # (H, T, S)
    # sentencepiece's mark of a word's beginning is so wide that it would touch the next label.
    source = [piece.replace("▁", "_") for piece in values["source"]]
    target = [piece.replace("▁", "_") for piece in values["target"]][:MOST_SUBWORDS]
    if len(values["target"]) > MOST_SUBWORDS:
        title += f" (first {MOST_SUBWORDS} of {len(values['target'])} subwords)"
    if len(heads) == 1:
        return [AttentionPanel(title, source, target, heads[0])]
    mean_title = f"{title}, {layer}: mean of {len(heads)} heads"
    panels = [AttentionPanel(mean_title, source, target, heads.mean(0))]
    for number, weights in enumerate(heads[:heads_drawn], start=1):
        head_title = f"{title}, {layer}: head {number}"
        panels.append(AttentionPanel(head_title, source, target, weights))
    return panels


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
