"""The figures of what rows cost: their quality against cost and size, and their speed."""

import textwrap

import numpy as np
from matplotlib.ticker import EngFormatter

from nmt.evaluation.metrics import METRICS
from nmt.paper.drawing import (
    COLORS,
    COLUMN,
    PAGE,
    Drawing,
    Picture,
    new_figure,
    nothing,
    number_logarithmic,
)
from nmt.paper.measurements import run_results

COSTS = {
    "device_hours": "device-hours of training",
    "flops_6nd": "training FLOPs (6 N D + attention)",
    "parameters_millions": "parameters (millions)",
}
# With more rows, the legend needs the width of a page.
ROWS_OF_A_COLUMN = 8
# The letters of a line of a bar's label
LABEL_LETTERS = 30


def cost(drawing: Drawing) -> Picture:
    """Draw each row's quality against COSTS, a panel for each, with deviations over seeds."""
    metric = drawing.table.leading_metric
    results = run_results(drawing.runs, drawing.table.split, [metric])
    rows = results.groupby("experiment", sort=False)
    data = rows[[*COSTS, metric]].mean()
    data["sd"] = rows[metric].std()
    data["seeds"] = rows[metric].count()
    data = data[data.seeds > 0].reset_index()
    if data.empty:
        return nothing(f"No run of this table has a score of {metric}.")
    figure = new_figure(PAGE, 2.2)
    grid = figure.subplots(1, len(COSTS), sharey=True, squeeze=False)[0]
    for axes, column in zip(grid, COSTS, strict=True):
        for row in data.to_dict("records"):
            style = drawing.style(row["experiment"]) | {"linestyle": "", "markersize": 4.5}
            sd = None if np.isnan(row["sd"]) else row["sd"]
            axes.errorbar(row[column], row[metric], sd, **style, elinewidth=0.8)
        low, high = data[column].min() / 1.3, data[column].max() * 1.3
        axes.set(xscale="log", xlim=(low, high), xlabel=COSTS[column])
        decades = np.log10(high / low)
        subs: tuple[float, ...] = (1, 2, 5) if decades < 2.5 else (1,)
        number_logarithmic(axes.xaxis, (1, 1.5, 2, 3, 4, 5, 6, 8) if decades < 0.5 else subs)
        if column == "flops_6nd":
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    grid[0].set_ylabel(METRICS[metric].label)
    note = "Bars: standard deviation over seeds." if data.seeds.max() > 1 else ""
    return Picture(figure, data, f"Split {drawing.table.split}", drawing.runs, note, grid[0])


def speed(drawing: Drawing) -> Picture:
    """Draw how many target tokens a second each row trained on, on one device."""
    runs = drawing.trainings
    results = run_results(runs, drawing.table.split, [])
    results["tokens_per_second"] = results.target_tokens / (3600 * results.device_hours)
    rows = results.groupby("experiment", sort=False)
    data = rows.agg(
        tokens_per_second=("tokens_per_second", "mean"),
        sd=("tokens_per_second", "std"),
        device=("device", "first"),
    ).reset_index()
    data.insert(1, "title", [drawing.title(name) for name in data.experiment])
    labels = [textwrap.fill(title, LABEL_LETTERS) for title in data.title]
    lines = max(label.count("\n") + 1 for label in labels)
    figure = new_figure(COLUMN, 0.5 + (0.08 + 0.12 * lines) * len(data))
    axes = figure.subplots()
    bars = axes.barh(data.index, data.tokens_per_second, color=COLORS[0], height=0.65)
    axes.set_yticks(data.index, labels)  # not labels for y: rows of one title would share a bar
    axes.bar_label(bars, [f"{value:,.0f}" for value in data.tokens_per_second], padding=2, size=6)
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.set_xlim(0, 1.18 * data.tokens_per_second.max())
    axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    axes.set_xlabel("tokens per device-second", loc="right")  # long names leave narrow axes
    note = f"Device: {', '.join(dict.fromkeys(data.device))}. Means over seeds."
    return Picture(figure, data, "Training set", runs, note)
