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
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.typing import RcKeyType

from nmt.configuration import Catalog, Reproduction, Table
from nmt.files import atomic_write
from nmt.paper.notes import MARK
from nmt.paper.results import Run, find_trained_runs

# fontTools reports every font that it embeds, at length.
logging.getLogger("fontTools").setLevel(logging.WARNING)

# Widths in inches: one column of a two-column paper, and both.
COLUMN = 3.4
PAGE = 7.0
SMALL_PRINT = 5.5  # points
# The colors of Okabe and Ito, which any color vision can distinguish. Dashes and markers change
# with them, so that rows differ in gray too; the numbers of these have no common divisor, so that
# no two of many rows look the same.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")
# Nine beside four dashes: rows of one table have no pair of both in common, so that print without
# color tells them apart.
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "p")

STYLE: dict[RcKeyType, Any] = {
    "font.family": "DejaVu Sans",  # comes with matplotlib: the same letters on every machine
    "font.size": 7.5,
    "axes.titlesize": 7.5,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 6.5,
    "ytick.labelsize": 6.5,
    "legend.fontsize": 6.5,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "axes.grid": True,
    "grid.linewidth": 0.4,
    "grid.color": "#DDDDDD",
    "axes.axisbelow": True,
    "lines.linewidth": 1.1,
    "savefig.dpi": 300,
    "text.parse_math": False,  # titles and subwords may contain dollar signs
    "pdf.fonttype": 42,  # TrueType, embedded: text stays text
}


@dataclass(frozen=True)
class Picture:
    """A figure, and a line of data for each point, bar, line or cell that it shows."""

    figure: Figure
    data: pd.DataFrame


@dataclass(frozen=True)
class Drawing:
    """What a figure shows: the rows of a reproduction's table, and the folder of all runs."""

    reproduction: Reproduction
    catalog: Catalog
    table: Table
    folder: Path

    @cached_property
    def runs(self) -> list[Run]:
        """The trained runs of the table's rows in their order, with every seed of experiments.

        Raises UserError as `find_trained_runs` does.
        """
        return find_trained_runs(
            self.folder, self.reproduction, self.catalog, self.table.experiments
        )

    @property
    def single_runs(self) -> list[Run]:
        """The runs that are not ensembles: only these have files of a training."""
        return [run for run in self.runs if not run.members]

    def runs_of(self, experiment: str) -> list[Run]:
        """Return the runs of one row."""
        return [run for run in self.runs if run.experiment == experiment]

    @property
    def rows(self) -> list[str]:
        """The rows of the table of which at least one run is trained."""
        return list(dict.fromkeys(run.experiment for run in self.runs))

    def title(self, experiment: str) -> str:
        """Return the title of one row, with a mark where it is stale."""
        title = self.catalog.rows[experiment].title
        is_stale = any(run.stale for run in self.runs_of(experiment))
        return f"{title} {MARK}" if is_stale else title

    @property
    def lowercased_titles(self) -> list[str]:
        """The titles of the rows that learn lower-cased text."""
        names = dict.fromkeys(
            trained.experiment for run in self.runs for trained in run.trained_runs
        )
        experiments = [self.catalog.experiment(name) for name in names]
        return [
            experiment.title
            for experiment in experiments
            if self.catalog.vocabulary(experiment.vocabulary).lowercase
        ]

    def case_note(self) -> str:
        """Return the small print on the case of BLEU that train.py and sweep.py measure.

        They ignore case where a row learns lower-cased text.
        """
        if not self.lowercased_titles:
            return ""
        if len(self.lowercased_titles) == len(self.rows) > 1:
            return " BLEU takes no account of case."
        return f" BLEU takes no account of case for: {'; '.join(self.lowercased_titles)}."

    def line_style(self, experiment: str) -> dict:
        """Return a row's color and dashes, the same in every figure of a table."""
        number = self.table.experiments.index(experiment)
        return {
            "color": COLORS[number % len(COLORS)],
            "linestyle": DASHES[number % len(DASHES)],
        }

    def marker(self, experiment: str) -> str:
        """Return a row's marker, the same in every figure of a table."""
        return MARKERS[self.table.experiments.index(experiment) % len(MARKERS)]

    @property
    def one_sentence(self) -> str:
        """What figures of attention show, instead of a split."""
        return f"One sentence, “{self.reproduction.attention.rstrip(' .')}”"

    def small_print(self, split: str, runs: list[Run], note: str) -> str:
        """Return what data and seeds the figure shows, and what else a reader must know."""
        corpus = self.catalog.corpus(self.reproduction.corpus).title
        seeds = dict.fromkeys(str(trained.seed) for run in runs for trained in run.trained_runs)
        count = "Seed" if len(seeds) == 1 else "Seeds"
        text = f"{corpus}. {split}. {count} {', '.join(seeds)}. {note}"
        if any(run.stale for run in runs):
            text += f" {MARK} Trained with other settings, data or code than there are now."
        return text


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of this size in inches, for `finish` after it is drawn."""
    return Figure(figsize=(width, height), layout="constrained")


def finish(figure: Figure, small_print: str, legend_of: Axes | None = None) -> Figure:
    """Add the small print at the foot, and the legend of one panel above all panels.

    The figure grows by the height that they need.
    """
    width, height = figure.get_size_inches()
    line_height = 1.25 * SMALL_PRINT / 72
    letters = int(width * 72 / (0.58 * SMALL_PRINT))  # of a line, approximately
    lines = textwrap.wrap(small_print, letters)
    foot = (len(lines) + 0.5) * line_height
    height += foot
    if legend_of:
        height += add_legend(figure, legend_of)
    figure.set_size_inches(width, height)
    layout = figure.get_layout_engine()
    assert isinstance(layout, ConstrainedLayoutEngine)
    layout.set(rect=(0, foot / height, 1, 1 - foot / height))
    figure.text(
        0.02,
        0.3 * line_height / height,
        "\n".join(lines),
        size=SMALL_PRINT,
        color="#555555",
        va="bottom",
        linespacing=1.2,
    )
    return figure


def add_legend(figure: Figure, axes: Axes) -> float:
    """Add the legend of one panel above all panels; return the height that it needs, in inches."""
    handles, labels = axes.get_legend_handles_labels()
    line_length = int(20 * figure.get_size_inches()[0])  # letters
    labels = [textwrap.fill(label, line_length - 8) for label in labels]
    label_length = max(map(len, labels)) + 8
    columns = min(max(1, line_length // label_length), len(labels))
    figure.legend(handles, labels, loc="outside upper center", ncols=columns)
    rows = sum(label.count("\n") + 1 for label in labels) / columns
    return 0.14 * rows


def empty_figure(drawing: Drawing, sentence: str) -> Picture:
    """Return a figure that says why there is nothing to draw."""
    figure = new_figure(COLUMN, 0.5)
    figure.text(0.5, 0.6, sentence, ha="center")
    corpus = drawing.catalog.corpus(drawing.reproduction.corpus).title
    data = pd.DataFrame({"nothing_to_draw": [sentence]})
    return Picture(finish(figure, f"{corpus}."), data)


def save(figure: Figure, pdf: Path, png: Path, origin: str) -> None:
    """Write both files, without the time of day or a program's version in them.

    origin: the commits that the figure's numbers come from, which the files' metadata have.
    """
    with matplotlib.rc_context(STYLE):
        # Once for both: it takes longer than to write a file.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
    unwanted = {"CreationDate": None, "Creator": None, "Producer": None}
    save_file(figure, pdf, "pdf", {"Subject": origin, **unwanted})
    save_file(figure, png, "png", {"Description": origin, "Software": None})


def save_file(
    figure: Figure, path: Path, file_format: str, metadata: dict[str, str | None]
) -> None:
    """Write one file, without the metadata that are None."""
    with atomic_write(path) as temporary_path, matplotlib.rc_context(STYLE):
        figure.savefig(temporary_path, format=file_format, metadata=metadata)
