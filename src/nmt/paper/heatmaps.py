"""The figures of matrices: positional encodings and attention."""

import math
import textwrap

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from nmt.configuration import SelfAttention
from nmt.paper.drawing import COLORS, COLUMN, PAGE, Drawing, finish, sheet
from nmt.provenance import commit

POSITIONS = 100
SHARES = (
    8,
    4,
)  # dimensions drawn as curves: these parts of the width, so that their wave lengths are always the same

HEADS_DRAWN = 2  # besides the mean of all
FEW = 4  # rows with attention; of more, the mean of heads alone is drawn, on COLUMNS panels side by side
COLUMNS = 3
LABELS = 0.75  # inches that a map's title and labels need on top
LETTERS, LINE = 13, 0.12  # of titles: letters in an inch, and a line's height in inches


def positional_encodings(drawing: Drawing) -> Figure:
    """The sinusoids of the table's first Transformer that has them, and a few of them as curves.

    Needs no run: they are a formula. Where no row has any, the figure says so.
    """
    from nmt.models.positions import (
        sinusoids,
    )  # torch takes seconds to load, and no other figure needs it

    experiments = drawing.catalog.experiments
    models = {
        name: experiments[name].model for name in drawing.table.experiments if name in experiments
    }
    with_sinusoids = [
        name
        for name, model in models.items()
        if isinstance(model, SelfAttention) and model.positions == "sinusoidal"
    ]
    if not with_sinusoids:
        return nothing(drawing, "No row of this table has sinusoids.")
    name = with_sinusoids[0]
    d_model = models[name].d_model
    encodings = sinusoids(POSITIONS, d_model).numpy()

    figure = sheet(COLUMN, 3.8)
    upper, lower = figure.subplots(2, height_ratios=(1.4, 1))
    image = heat_map(upper, encodings.T, "RdBu_r", (-1, 1), aspect="auto")
    upper.set_ylabel("dimension\n(even: sine, odd: cosine)")
    upper.set_xlabel("position")
    figure.colorbar(image, ax=upper, ticks=(-1, 0, 1), aspect=15, pad=0.02)
    for share, color in zip(SHARES, COLORS, strict=False):
        even = d_model // share // 2 * 2
        lower.plot(encodings[:, even], color=color, label=f"dimension {even}")
        lower.plot(
            encodings[:, even + 1], color=color, linestyle=":", label=f"dimension {even + 1}"
        )
    lower.set_xlabel("position")
    lower.set_ylabel("encoding")
    lower.set_xlim(0, POSITIONS - 1)
    lower.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=2)
    corpus = drawing.catalog.corpus(drawing.reproduction.corpus).title
    text = (
        f"AIAYN section 3.5 with d_model = {d_model}, as {drawing.title(name)} has it. A formula:"
        " no split, no seed."
    )
    return finish(figure, f"{corpus}. {text} Commit {commit()}.")


def attention(drawing: Drawing) -> Figure:
    """What each row looks at in the source for each subword of its own translation, with the first
    seed.

    Of several heads: the last layer's mean and its first heads, of many rows the mean alone. Rows
    without attention have no panel; where none has any, the figure says so.
    """
    runs = [run for run in drawing.single if run.seed == drawing.reproduction.seeds[0]]
    found = {drawing.title(run.experiment): run.attention() for run in runs}
    found = {title: attended for title, attended in found.items() if attended["maps"]}
    if not found:
        return nothing(drawing, "No row of this table has attention.")
    many = len(found) > FEW
    panels = [
        panel
        for title, attended in found.items()
        for panel in maps(title, attended, 0 if many else HEADS_DRAWN)
    ]
    columns = min(COLUMNS if many else 2, len(panels))
    rows = math.ceil(len(panels) / columns)
    longest_source, longest_target = (max(len(panel[side]) for panel in panels) for side in (1, 2))
    cell = min(0.3, 5 / columns / longest_source)  # inches
    letters = int(LETTERS * PAGE / columns)  # of a line
    lines = max(len(textwrap.wrap(panel[0], letters)) for panel in panels)
    figure = sheet(PAGE, rows * (longest_target * cell + LABELS + LINE * (lines - 1)))
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, (title, source, target, weights) in zip(grid, panels, strict=False):
        image = heat_map(axes, weights, "Blues", (0, 1), aspect="equal")
        size = min(6.5, cell * 72 * 0.85)
        axes.xaxis.tick_top()
        axes.set_xticks(range(len(source)), source, rotation=90, size=size)
        axes.set_yticks(range(len(target)), target, size=size)
        axes.tick_params(length=0, pad=2)
        axes.set_title(textwrap.fill(title, letters))
        axes.set_anchor("N")  # translations differ in length: panels of one row begin on one line
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    figure.colorbar(
        image, ax=grid, label="attention weight", shrink=0.4, aspect=20, pad=0.02, panchor=False
    )
    text = (
        f"The sentence: {drawing.reproduction.attention} An underscore marks where a word begins."
    )
    return finish(figure, drawing.small_print("One sentence, of no split", runs, text))


def maps(
    title: str, found: dict, heads_drawn: int
) -> list[tuple[str, list[str], list[str], np.ndarray]]:
    """Title, source, target and weights (T, S) of each panel that attention.json of one run
    gives.
    """
    layer, heads = list(found["maps"].items())[-1]
    heads = np.array(heads)  # (H, T, S)
    # sentencepiece's mark of a word's beginning is so broad that it runs into the next label
    source, target = (
        [piece.replace("▁", "_") for piece in found[side]] for side in ("source", "target")
    )
    if len(heads) == 1:
        return [(title, source, target, heads[0])]
    mean = (f"{title}, {layer}: mean of {len(heads)} heads", source, target, heads.mean(0))
    return [mean] + [
        (f"{title}, {layer}: head {number}", source, target, weights)
        for number, weights in enumerate(heads[:heads_drawn], start=1)
    ]


def nothing(drawing: Drawing, sentence: str) -> Figure:
    """In place of a figure for which the table's rows have nothing."""
    figure = sheet(COLUMN, 0.5)
    figure.text(0.5, 0.6, sentence, ha="center")
    corpus = drawing.catalog.corpus(drawing.reproduction.corpus).title
    return finish(figure, f"{corpus}. Commit {commit()}.")


def heat_map(
    axes: Axes, matrix: np.ndarray, colors: str, limits: tuple[float, float], aspect: str
) -> AxesImage:
    """The matrix as it is printed: row 0 on top."""
    axes.grid(False)
    axes.spines[["top", "right"]].set_visible(True)
    return axes.imshow(
        matrix, cmap=colors, vmin=limits[0], vmax=limits[1], aspect=aspect, interpolation="nearest"
    )
