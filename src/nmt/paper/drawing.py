"""What all figures share: their runs, sizes, fonts, colors and small print, and how they are saved.

Saved files do not change from one call to the next.
"""

import logging
import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import matplotlib
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator

from nmt.configuration import Catalog, Reproduction, Table
from nmt.files import atomic_write
from nmt.paper import figures
from nmt.paper.results import Run, RunFiles, commits, find_trained_runs

# fontTools reports every font that it embeds, at length.
logging.getLogger("fontTools").setLevel(logging.WARNING)

PAGE = 7.0  # inches: the width of every figure
SMALL_PRINT = 5.5  # points
SMALL_PRINT_LETTERS = 166  # of a line
LEGEND_COLUMNS = 3
LEGEND_LETTERS = 36  # of a line in a column
# The colors of Okabe and Ito, which any color vision can distinguish. Dashes and markers change
# with them, so that rows differ in gray too; the numbers of these have no common divisor, so that
# no two of many rows look the same.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "p")

STYLE = Path(__file__).with_name("style.mplstyle")


@dataclass(frozen=True)
class Picture:
    """A figure, and a line of data for each point, bar, line or cell that it shows.

    shows: the split, or the sentence. runs: those drawn, none for formulas. note: what a reader
    must know beside the caption. legend_of: the panel whose legend stands above all.
    """

    figure: Figure
    data: pd.DataFrame
    shows: str = ""
    runs: tuple[Run, ...] = ()
    note: str = ""
    legend_of: Axes | None = None


@dataclass(frozen=True)
class Drawing:
    """What a figure shows: the rows of a reproduction's table, and the files of all runs."""

    reproduction: Reproduction
    catalog: Catalog
    table: Table
    files: RunFiles

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The trained runs of the table's rows in their order, with every seed of experiments.

        Raises UserError where there are none.
        """
        rows = self.table.experiments
        return tuple(find_trained_runs(self.files, self.reproduction, self.catalog, rows))

    @property
    def single_runs(self) -> tuple[Run, ...]:
        """The runs that are not ensembles: only these have files of a training."""
        return tuple(run for run in self.runs if run.seed is not None)

    @property
    def trainings(self) -> tuple[Run, ...]:
        """The single runs without those of rows that share the training of a row before them."""
        first = {Path(run.trained_in).parent: run.experiment for run in self.single_runs[::-1]}
        return tuple(run for run in self.single_runs if run.experiment in first.values())

    @property
    def first_runs(self) -> tuple[Run, ...]:
        """The run with the first seed of each row that is not an ensemble."""
        return tuple({run.experiment: run for run in self.single_runs[::-1]}.values())[::-1]

    @property
    def rows(self) -> list[str]:
        """The rows of the table of which at least one run is trained."""
        return list(dict.fromkeys(run.experiment for run in self.runs))

    def title(self, experiment: str) -> str:
        """Return the title of one row."""
        return self.catalog.rows[experiment].title

    @property
    def is_lowercased(self) -> bool:
        """Whether a row learns lower-cased text."""
        return any(map(self.catalog.is_lowercased, self.rows))

    def style(self, experiment: str) -> dict[str, Any]:
        """Return a row's color, dashes, marker and label, the same in every figure of a table."""
        number = self.table.experiments.index(experiment)
        return {
            "color": COLORS[number % len(COLORS)],
            "linestyle": DASHES[number % len(DASHES)],
            "marker": MARKERS[number % len(MARKERS)],
            "label": self.title(experiment),
        }

    def plot(self, axes: Axes, data: pd.DataFrame, x: str, y: str) -> None:
        """Draw a line for each row in the data, in a band from its "lowest" to its "highest"."""
        for experiment, points in data.groupby("experiment", sort=False):
            style = self.style(str(experiment))
            # Of the panel's size, because points may be many and close together; matplotlib would
            # leave out the marker of a single point.
            every = 0.15 if len(points) > 1 else None
            axes.plot(points[x], points[y], **style, markevery=every)
            band = points[x], points.lowest, points.highest
            axes.fill_between(*band, color=style["color"], alpha=0.2, linewidth=0)


def draw(name: str, drawing: Drawing) -> Picture:
    """Return the figure FIGURES[name]; the same rows and results give the same figure."""
    figure = figures.FIGURES[name]
    with matplotlib.rc_context(fname=STYLE):
        if not figure.is_drawn_for(drawing.table, drawing.catalog):
            picture = nothing("No row of this table has what this figure shows.")
        else:
            picture = figure.function()(drawing)
        finish(picture, small_print(picture, drawing))
    return picture


def new_figure(height: float) -> Figure:
    """Return an empty figure of this height in inches."""
    return Figure(figsize=(PAGE, height), layout="constrained")


def small_print(picture: Picture, drawing: Drawing) -> str:
    """Return what data and seeds a figure shows, and what else a reader must know."""
    seeds = dict.fromkeys(str(run.seed) for row in picture.runs for run in row.trained_runs)
    count = "Seed" if len(seeds) == 1 else "Seeds"
    parts = [drawing.catalog.corpus(drawing.reproduction.corpus).title, picture.shows]
    parts += [f"{count} {', '.join(seeds)}" if seeds else "", picture.note]
    return " ".join(f"{part.rstrip('.')}." for part in parts if part)


def finish(picture: Picture, small_print: str) -> None:
    """Write the small print below, and the legend of one panel above all panels."""
    text = textwrap.fill(small_print, SMALL_PRINT_LETTERS)
    picture.figure.text(0.01, -0.02, text, size=SMALL_PRINT, color="#555555", va="top")
    if picture.legend_of:
        handles, labels = picture.legend_of.get_legend_handles_labels()
        labels = [textwrap.fill(label, LEGEND_LETTERS) for label in labels]
        picture.figure.legend(
            handles, labels, loc="lower center", bbox_to_anchor=(0.5, 1), ncols=LEGEND_COLUMNS
        )


def count_large(axis: Axis) -> None:
    """Give an axis few whole numbers, large ones with letters: 20k."""
    axis.set_major_locator(MaxNLocator(4, integer=True))
    axis.set_major_formatter(EngFormatter(sep=""))


def nothing(sentence: str) -> Picture:
    """Return a figure that says why there is nothing to draw."""
    figure = new_figure(0.3)
    figure.text(0.5, 0.5, sentence, ha="center", va="center")
    return Picture(figure, pd.DataFrame({"nothing_to_draw": [sentence]}))


def save(picture: Picture, pdf: Path, png: Path) -> None:
    """Write both files, without the time of day or a program's version in them.

    Their metadata have the commits that trained the runs drawn.
    """
    origin = f"Commit {commits(list(picture.runs))}" if picture.runs else ""
    without_time = {"CreationDate": None, "Creator": None, "Producer": None}
    forms = {
        "pdf": (pdf, {"Subject": origin, **without_time}),
        "png": (png, {"Description": origin, "Software": None}),
    }
    for form, (path, metadata) in forms.items():
        with matplotlib.rc_context(fname=STYLE), atomic_write(path) as file:
            picture.figure.savefig(file, format=form, metadata=metadata)
