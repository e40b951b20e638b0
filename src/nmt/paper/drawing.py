"""What all figures share: the runs they show, size, type, colors, small print, and files that never
change.
"""

import logging
import textwrap
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from nmt.configuration import Catalog, Reproduction, Table
from nmt.files import atomic_write
from nmt.paper.results import Run, commits, find_runs

logging.getLogger("fontTools").setLevel(
    logging.WARNING
)  # it reports every font that is embedded, at length

COLUMN, PAGE = 3.4, 7.0  # widths in inches: one column of a two-column paper, and both
SMALL_PRINT = 5.5  # points
# Okabe and Ito's colors, told apart with any color vision; when they are used up, the same with
# other dashes.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")

STYLE = {
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
    "text.parse_math": False,  # titles and subwords have dollar signs of their own
    "pdf.fonttype": 42,  # TrueType, embedded: text stays text
}


@dataclass(frozen=True)
class Drawing:
    """What a figure is drawn of: the rows of a reproduction's table, and the folder of all runs."""

    reproduction: Reproduction
    catalog: Catalog
    table: Table
    folder: Path

    @cached_property
    def runs(self) -> list[Run]:
        """Of the table's rows in their order, every seed of experiments. Raises UserError as
        `find_runs` does.
        """
        return find_runs(self.folder, self.reproduction, self.catalog, self.table.experiments)

    @property
    def single(self) -> list[Run]:
        """The runs that are no ensembles: what a training leaves can be drawn of them."""
        return [run for run in self.runs if not run.members]

    def of(self, experiment: str) -> list[Run]:
        return [run for run in self.runs if run.experiment == experiment]

    def title(self, experiment: str) -> str:
        return self.catalog.rows[experiment].title

    @property
    def lowercased(self) -> list[str]:
        """The titles of the rows that learn lower-cased text."""
        rows = dict.fromkeys(run.experiment for all_of in self.runs for run in all_of.trained)
        experiments = {row: self.catalog.experiment(row) for row in rows}
        return [
            experiment.title
            for experiment in experiments.values()
            if self.catalog.vocabulary(experiment.vocabulary).lowercase
        ]

    def caseless(self) -> str:
        """What the small print says of BLEU that train.py and sweep.py measure: like the text that
        a row learns.
        """
        return (
            f" BLEU takes no account of case for: {'; '.join(self.lowercased)}."
            if self.lowercased
            else ""
        )

    def look(self, experiment: str) -> dict:
        """An experiment's color and dashes: the same in every figure of a reproduction."""
        number = self.reproduction.experiments.index(experiment)
        return {
            "color": COLORS[number % len(COLORS)],
            "linestyle": DASHES[number // len(COLORS) % len(DASHES)],
        }

    def small_print(self, split: str, runs: list[Run], more: str) -> str:
        """Where the figure comes from; `more` says what else a reader must know."""
        corpus = self.catalog.corpus(self.reproduction.corpus).title
        seeds = list(dict.fromkeys(run.seed for all_of in runs for run in all_of.trained))
        count = "Seed" if len(seeds) == 1 else "Seeds"
        return (
            f"{corpus}. {split}. {count} {', '.join(map(str, seeds))}. Commit {commits(runs)}."
            f" {more}"
        )


def sheet(width: float, height: float) -> Figure:
    """An empty figure of so many inches, to be filled and then finished."""
    return Figure(figsize=(width, height), layout="constrained")


def finish(figure: Figure, small_print: str, legend_of: Axes | None = None) -> Figure:
    """Adds the small print at the foot and one legend over all panels; the figure grows by what
    they need.
    """
    width, height = figure.get_size_inches()
    lines = textwrap.wrap(
        small_print, int(width * 72 / (0.58 * SMALL_PRINT))
    )  # letters are about so wide
    line = 1.25 * SMALL_PRINT / 72
    foot = (len(lines) + 0.5) * line
    height += foot
    if legend_of:
        handles, labels = legend_of.get_legend_handles_labels()
        letters = int(20 * width)  # in a line
        labels = [textwrap.fill(label, letters - 8) for label in labels]
        columns = max(1, letters // (max(map(len, labels)) + 8))
        figure.legend(handles, labels, loc="outside upper center", ncols=min(columns, len(labels)))
        rows = sum(label.count("\n") + 1 for label in labels) / min(columns, len(labels))
        height += 0.14 * rows
    figure.set_size_inches(width, height)
    figure.get_layout_engine().set(rect=(0, foot / height, 1, 1 - foot / height))
    text = {"size": SMALL_PRINT, "color": "#555555", "va": "bottom", "linespacing": 1.2}
    figure.text(0.02, 0.3 * line / height, "\n".join(lines), **text)
    return figure


def save(figure: Figure, pdf: Path, png: Path) -> None:
    """Both files, without the time of day or a program's version in them."""
    forms = {
        "pdf": (pdf, {"CreationDate": None, "Creator": None, "Producer": None}),
        "png": (png, {"Software": None}),
    }
    for form, (path, metadata) in forms.items():
        with atomic_write(path) as beside, matplotlib.rc_context(STYLE):
            figure.savefig(beside, format=form, metadata=metadata)
