"""The figures of matrices: positional encodings and attention."""

import math
import textwrap
from dataclasses import dataclass
from typing import Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from nmt.configuration import SelfAttention
from nmt.paper.drawing import COLORS, COLUMN, PAGE, Drawing, finish, new_figure

POSITIONS = 100
# The dimensions drawn as curves: d_model divided by these, so that their wavelengths are the same
# for every d_model.
CURVE_DIVISORS = (8, 4)

# Heads drawn besides the mean of all.
HEADS_DRAWN = 2
# Of more rows with attention than FEW_ROWS, only the mean of heads is drawn, on panels in
# MANY_ROWS_COLUMNS columns.
FEW_ROWS = 4
FEW_ROWS_COLUMNS = 2
MANY_ROWS_COLUMNS = 3
# Inches that a panel's title and labels need on top, and that each further line of a title needs.
LABEL_HEIGHT = 0.75
TITLE_LINE_HEIGHT = 0.12
TITLE_LETTERS = 13  # an inch


@dataclass(frozen=True)
class AttentionPanel:
    """A panel of the figure of attention: weights (T, S) between target and source subwords."""

    title: str
    source: list[str]
    target: list[str]
    weights: np.ndarray


def positional_encodings(drawing: Drawing) -> Figure:
    """Draw the sinusoids of the table's first Transformer that has them, and some as curves.

    Needs no run: they are a formula. Where no row has any, the figure says so.
    """
    # Imported here because torch takes seconds to load, and no other figure needs it.
    from nmt.models.positions import sinusoids

    name = first_with_sinusoids(drawing)
    if name is None:
        return empty_figure(drawing, "No row of this table has sinusoids.")
    model = drawing.catalog.experiments[name].model
    assert isinstance(model, SelfAttention)
    d_model = model.d_model
    encodings = sinusoids(POSITIONS, d_model).numpy()

    figure = new_figure(COLUMN, 3.8)
    matrix_axes, curve_axes = figure.subplots(2, height_ratios=(1.4, 1))
    image = heat_map(matrix_axes, encodings.T, "RdBu_r", (-1, 1), aspect="auto")
    matrix_axes.set_ylabel("dimension\n(even: sine, odd: cosine)")
    matrix_axes.set_xlabel("position")
    figure.colorbar(image, ax=matrix_axes, ticks=(-1, 0, 1), aspect=15, pad=0.02)
    for divisor, color in zip(CURVE_DIVISORS, COLORS, strict=False):
        even = d_model // divisor // 2 * 2
        odd = even + 1
        curve_axes.plot(encodings[:, even], color=color, label=f"dimension {even}")
        curve_axes.plot(encodings[:, odd], color=color, linestyle=":", label=f"dimension {odd}")
    curve_axes.set_xlabel("position")
    curve_axes.set_ylabel("encoding")
    curve_axes.set_xlim(0, POSITIONS - 1)
    curve_axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    corpus = drawing.catalog.corpus(drawing.reproduction.corpus).title
    note = (
        f"AIAYN section 3.5 with d_model = {d_model}, as {drawing.title(name)} has it. A formula:"
        " no split, no seed."
    )
    return finish(figure, f"{corpus}. {note}")


def first_with_sinusoids(drawing: Drawing) -> str | None:
    """Return the table's first experiment with sinusoidal positions; None where none has any."""
    experiments = drawing.catalog.experiments
    for name in drawing.table.experiments:
        model = experiments[name].model if name in experiments else None
        if isinstance(model, SelfAttention) and model.positions == "sinusoidal":
            return name
    return None


def attention(drawing: Drawing) -> Figure:
    """Draw each row's attention from each subword of its own translation to the source.

    Runs are those with the first seed. Of several heads, the last layer's mean and its first heads
    are drawn; of many rows, the mean alone. Rows without attention have no panel; where none has
    any, the figure says so.
    """
    first_seed = drawing.reproduction.seeds[0]
    runs = [run for run in drawing.single_runs if run.seed == first_seed]
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
    note = (
        f"The sentence: {drawing.reproduction.attention} An underscore marks where a word begins."
    )
    return finish(figure, drawing.small_print("One sentence", runs, note))


def attention_figure(panels: list[AttentionPanel], columns: int) -> Figure:
    """Return a figure of the panels, which all have cells of the same size."""
    rows = math.ceil(len(panels) / columns)
    longest_source = max(len(panel.source) for panel in panels)
    longest_target = max(len(panel.target) for panel in panels)
    cell = min(0.3, 5 / columns / longest_source)  # inches
    font_size = min(6.5, cell * 72 * 0.85)
    title_width = int(TITLE_LETTERS * PAGE / columns)  # letters
    title_lines = max(len(textwrap.wrap(panel.title, title_width)) for panel in panels)
    title_height = LABEL_HEIGHT + TITLE_LINE_HEIGHT * (title_lines - 1)
    figure = new_figure(PAGE, rows * (longest_target * cell + title_height))
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, panel in zip(grid, panels, strict=False):
        image = heat_map(axes, panel.weights, "Blues", (0, 1), aspect="equal")
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(panel.source)), panel.source, rotation=90, size=font_size)
        axes.set_yticks(range(len(panel.target)), panel.target, size=font_size)
        axes.tick_params(length=0, pad=2)
        axes.set_title(textwrap.fill(panel.title, title_width))
        # Translations differ in length: align the tops of the panels of a row.
        axes.set_anchor("N")
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
    heads = np.array(heads)  # (H, T, S)
    # sentencepiece's mark of a word's beginning is so wide that it would touch the next label.
    source = [piece.replace("▁", "_") for piece in values["source"]]
    target = [piece.replace("▁", "_") for piece in values["target"]]
    if len(heads) == 1:
        return [AttentionPanel(title, source, target, heads[0])]
    mean_title = f"{title}, {layer}: mean of {len(heads)} heads"
    panels = [AttentionPanel(mean_title, source, target, heads.mean(0))]
    for number, weights in enumerate(heads[:heads_drawn], start=1):
        head_title = f"{title}, {layer}: head {number}"
        panels.append(AttentionPanel(head_title, source, target, weights))
    return panels


def empty_figure(drawing: Drawing, sentence: str) -> Figure:
    """Return a figure that says why the table's rows have nothing to draw."""
    figure = new_figure(COLUMN, 0.5)
    figure.text(0.5, 0.6, sentence, ha="center")
    corpus = drawing.catalog.corpus(drawing.reproduction.corpus).title
    return finish(figure, f"{corpus}.")


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
