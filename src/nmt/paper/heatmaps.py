"""The figures of attention from target to source: heat maps."""

import math
import textwrap
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.image import AxesImage

from nmt.paper.drawing import PAGE, Drawing, Picture, new_figure, nothing
from nmt.paper.results import Run
from nmt.serving.attention import CROSS, SCALE

MOST_COLUMNS = 3  # of panels
LABEL_HEIGHT = 0.9  # inches that a panel's title and labels need
TITLE_LETTERS = 13  # an inch
# A model that is barely trained repeats itself up to the limit of length.
MOST_SUBWORDS = 40  # of a translation


@dataclass(frozen=True)
class Recorded:
    """What attend.py wrote of a run's first sentence.

    maps: the weights (H, T, S), (H, S, S) or (H, T, T) by layer, by kind of attention.
    """

    sentence: str
    source: list[str]
    target: list[str]
    maps: dict[str, dict[str, np.ndarray]]

    @property
    def shown(self) -> str:
        """What figures of attention show, instead of a split."""
        return f"One sentence, “{self.sentence.rstrip(' .')}”"


def recorded(run: Run) -> Recorded:
    """Return the first sentence of a run's attention."""
    first = run.read("attention.json", ["sentences"])["sentences"][0]
    maps = {
        kind: {layer: np.array(heads) / SCALE for layer, heads in layers.items()}
        for kind, layers in first["maps"].items()
    }
    # sentencepiece's mark of a word's beginning is so wide that it would touch the next label.
    source, target = ([it.replace("▁", "_") for it in first[key]] for key in ("source", "target"))
    return Recorded(first["sentence"], source, target, maps)


def attention(drawing: Drawing) -> Picture:
    """Draw the attention from the subwords of each row's translation to those of the source.

    Runs are the first of each row; those without attention have no panel. Of several heads in the
    last layer it is the mean.
    """
    sentences = {run: recorded(run) for run in drawing.first_runs}
    sentences = {run: values for run, values in sentences.items() if CROSS in values.maps}
    if not sentences:
        return nothing("No row of this table has such attention.")
    columns = min(MOST_COLUMNS, len(sentences))
    rows = math.ceil(len(sentences) / columns)
    longest = max(len(values.source) for values in sentences.values())
    highest = max(len(values.target[:MOST_SUBWORDS]) for values in sentences.values())
    cell = min(0.3, 0.7 * PAGE / columns / longest)  # inches
    figure = new_figure(rows * (LABEL_HEIGHT + cell * highest))
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    cells = []
    for axes, (run, values) in zip(grid, sentences.items(), strict=False):
        layer, heads = list(values.maps[CROSS].items())[-1]
        title = drawing.title(run.experiment)
        if len(heads) > 1:
            title += f", {layer}: mean of {len(heads)} heads"
        weights = heads.mean(0)[:MOST_SUBWORDS]  # (T, S)
        image = draw_panel(axes, weights, values, cell)
        axes.set_title(textwrap.fill(title, int(TITLE_LETTERS * PAGE / columns)))
        for (target, source), weight in np.ndenumerate(weights):
            words = (values.target[target], source, values.source[source])
            cells.append((title, target, *words, weight))
    for axes in grid[len(sentences) :]:
        axes.set_visible(False)
    figure.colorbar(image, ax=grid, label="attention weight", shrink=0.4, panchor=False)
    names = ["panel", "target_position", "target", "source_position", "source", "weight"]
    shown = next(iter(sentences.values())).shown
    return Picture(figure, pd.DataFrame(cells, columns=names), shown, tuple(sentences))


def draw_panel(axes: Axes, weights: np.ndarray, values: Recorded, cell: float) -> AxesImage:
    """Draw a panel with its subwords; a cell is that many inches high and wide."""
    axes.grid(False)
    axes.spines[["top", "right"]].set_visible(True)
    image = axes.imshow(weights, cmap="Blues", vmin=0, vmax=1, interpolation="nearest")
    font_size = min(6.5, cell * 72 * 0.85)
    axes.xaxis.tick_top()
    axes.set_xticks(range(len(values.source)), values.source, rotation=90, size=font_size)
    axes.set_yticks(range(len(weights)), values.target[: len(weights)], size=font_size)
    axes.tick_params(length=0, pad=2)
    axes.set(xlabel="source", ylabel="target (generated)")
    axes.xaxis.set_label_position("bottom")
    axes.set_anchor("N")  # translations differ in length: the tops of a row of panels are aligned
    return image
