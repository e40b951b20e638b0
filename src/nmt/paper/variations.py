"""The figure of a table of variations: its differences to the base beside those in the paper."""

import numpy as np
import pandas as pd

from nmt.evaluation.metrics import METRICS
from nmt.paper.drawing import COLORS, Drawing, Picture, new_figure, nothing
from nmt.paper.measurements import run_results
from nmt.paper.tables import table_rows

MOST_LABELS = 4  # of a panel: of the rows that change most


def differences(drawing: Drawing) -> Picture:
    """Draw our differences to the base against the paper's, a panel for each metric that has both.

    Where signs agree a point lies on a shaded quarter; where ours may be chance it is hollow.
    """
    table = drawing.table
    results = run_results(drawing.runs, table.split, table.metrics)
    rows = table_rows(table, drawing.reproduction.corpus, drawing.catalog, results, {})
    parts = [
        rows[["title"]].assign(
            metric=metric,
            paper=rows[f"{metric}_published_to_base"],
            ours=rows[f"{metric}_to_base"],
            may_be_chance=rows[f"{metric}_may_be_chance"],
        )
        for metric in table.metrics
    ]
    data = pd.concat(parts, ignore_index=True).dropna(subset=["paper", "ours"])
    if data.empty:
        return nothing("No row of this table was run beside its base.")
    panels = data.groupby("metric", sort=False)
    figure = new_figure(3.0)
    grid = figure.subplots(1, panels.ngroups, squeeze=False)[0]
    for axes, (name, points) in zip(grid, panels, strict=True):
        axes.axline((0, 0), slope=1, color="#999999", linestyle=":", linewidth=0.8)
        for zero in (axes.axhline, axes.axvline):
            zero(0, color="#555555", linewidth=0.6)
        for is_chance, some in points.groupby("may_be_chance"):
            color = "none" if is_chance else COLORS[0]
            axes.scatter(some.paper, some.ours, 18, facecolors=color, edgecolors=COLORS[0])
        for row in points.loc[points.ours.abs().nlargest(MOST_LABELS).index].itertuples():
            side = {"xytext": (-4, 3), "ha": "right"} if row.paper > 0 else {"xytext": (4, -7)}
            place = (row.paper, row.ours)
            axes.annotate(row.title, place, textcoords="offset points", size=5.5, **side)
        limits = {"xlim": axes.get_xlim(), "ylim": axes.get_ylim()}
        for x, y in zip(*limits.values(), strict=True):  # of the quarters of minus and of plus
            axes.fill_between([0, x], 0, y, color="#EEF4F9", zorder=0, linewidth=0)
        axes.set(**limits)
        changed = points[(points.paper.round(9) != 0) & (points.ours != 0)]
        agreeing = (np.sign(changed.paper) == np.sign(changed.ours)).sum()
        signs = f"{agreeing} of {len(changed)} signs agree"
        r = points.paper.corr(points.ours)
        axes.set_title(f"{METRICS[str(name)].label}: {signs}, r = {r:.2f}")
        axes.set(xlabel="difference to base in the paper", ylabel="difference to base here")
    note = "Hollow: ours may be chance. Dotted: equal differences. Shaded: signs agree."
    return Picture(figure, data, f"Split {table.split}", drawing.runs, note)
