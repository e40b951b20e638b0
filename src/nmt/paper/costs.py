"""The figure of what rows cost: their quality against cost and size."""

from nmt.evaluation.metrics import METRICS
from nmt.paper.cells import COST
from nmt.paper.drawing import Drawing, Picture, count_large, new_figure, nothing
from nmt.paper.measurements import run_results

COSTS = {"device_hours": "device-hours of training"} | {
    column: COST[column][0] for column in ("flops_6nd", "parameters_millions")
}


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
    figure = new_figure(2.2)
    grid = figure.subplots(1, len(COSTS), sharey=True, squeeze=False)[0]
    for axes, column in zip(grid, COSTS, strict=True):
        for row in data.to_dict("records"):
            style = drawing.style(row["experiment"]) | {"linestyle": "", "markersize": 4.5}
            axes.errorbar(row[column], row[metric], row["sd"], **style, elinewidth=0.8)
        axes.locator_params(axis="x", nbins=4)
        axes.set_xlabel(COSTS[column])
        if column == "flops_6nd":
            count_large(axes.xaxis)
    grid[0].set_ylabel(METRICS[metric].label)
    note = "Means over seeds; bars: their standard deviation."
    return Picture(figure, data, f"Split {drawing.table.split}", drawing.runs, note, grid[0])
