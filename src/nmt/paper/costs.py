"""The figures of what rows cost: their quality against cost and size, and their speed."""

import textwrap

from nmt.evaluation.metrics import METRICS
from nmt.paper.drawing import (
    COLORS,
    COLUMN,
    PAGE,
    Drawing,
    Picture,
    count_large,
    new_figure,
    nothing,
)
from nmt.paper.measurements import run_results

COSTS = {
    "device_hours": "device-hours of training",
    "flops_6nd": "training FLOPs (6 N D + attention)",
    "parameters_millions": "parameters (millions)",
}
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
            axes.errorbar(row[column], row[metric], row["sd"], **style, elinewidth=0.8)
        axes.set_xlabel(COSTS[column])
        if column == "flops_6nd":
            count_large(axes.xaxis)
    grid[0].set_ylabel(METRICS[metric].label)
    note = "Means over seeds; bars: their standard deviation."
    return Picture(figure, data, f"Split {drawing.table.split}", drawing.runs, note, grid[0])


def speed(drawing: Drawing) -> Picture:
    """Draw how many target tokens a second each row trained on, on one device."""
    runs = drawing.trainings
    results = run_results(runs, drawing.table.split, [])
    results["tokens_per_second"] = results.target_tokens / (3600 * results.device_hours)
    rows = results.groupby("experiment", sort=False)
    data = rows.agg({"tokens_per_second": "mean", "device": "first"}).reset_index()
    labels = [textwrap.fill(drawing.title(name), LABEL_LETTERS) for name in data.experiment]
    lines = max(label.count("\n") + 1 for label in labels)
    figure = new_figure(COLUMN, 0.5 + (0.08 + 0.12 * lines) * len(data))
    axes = figure.subplots()
    bars = axes.barh(data.index, data.tokens_per_second, color=COLORS[0], height=0.65)
    axes.set_yticks(data.index, labels)  # not labels for y: rows of one title would share a bar
    axes.bar_label(bars, [f"{value:,.0f}" for value in data.tokens_per_second], padding=2, size=6)
    axes.invert_yaxis()
    axes.grid(False, axis="y")
    axes.margins(x=0.18)  # for the numbers beside the bars
    count_large(axes.xaxis)
    axes.set_xlabel("tokens per device-second", loc="right")  # long names leave narrow axes
    note = f"Device: {', '.join(dict.fromkeys(data.device))}. Means over seeds."
    return Picture(figure, data, "Training set", runs, note)
