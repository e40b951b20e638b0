"""The figure of what was recorded while training."""

from collections.abc import Collection

import numpy as np
import pandas as pd
from matplotlib.ticker import LogLocator, NullFormatter

from nmt.paper.drawing import Drawing, Picture, count_large, new_figure, nothing
from nmt.paper.results import Run

# The rows of panels of learning curves, by the key in metrics.jsonl.
PANELS = {
    "nll": "training loss (nats)",
    "dev_perplexity": "dev perplexity",
    "dev_bleu": "dev BLEU, greedy",
    "learning_rate": "learning rate",
}
# The columns of panels, and what metrics.jsonl calls them.
AXES = {
    "update": "updates",
    "target_tokens": "target tokens",
    "device_seconds": "device-seconds",
    "flops": "training FLOPs",
}


def learning_curves(drawing: Drawing) -> Picture:
    """Draw loss, dev scores and learning rate against updates, tokens, device-seconds and FLOPs.

    A row is the mean over its seeds, in a band from the lowest to the highest.
    """
    points = curve_points(drawing) if drawing.trainings else pd.DataFrame()
    if points.empty:
        return nothing("No training of this table has left a log.")
    panels = {key: label for key, label in PANELS.items() if key in set(points.metric)}
    axes_drawn = {key: label for key, label in AXES.items() if points[key].notna().all()}
    figure = new_figure(0.3 + 1.25 * len(panels))
    grid = figure.subplots(len(panels), len(axes_drawn), sharex="col", sharey="row", squeeze=False)
    for row, (metric, label) in zip(grid, panels.items(), strict=True):
        for axes, key in zip(row, axes_drawn, strict=True):
            drawing.plot(axes, points[points.metric == metric], key, "mean")
        row[0].set_ylabel(label)
        finite = np.isfinite(points["mean"][points.metric == metric])
        if metric == "dev_perplexity" and finite.any():
            row[0].set_yscale("log")
            # Powers of ten, and three times these
            row[0].yaxis.set_major_locator(LogLocator(subs=(1, 3), numticks=20))
            row[0].yaxis.set_major_formatter("{x:g}")
            row[0].yaxis.set_minor_formatter(NullFormatter())
    for axes, label in zip(grid[-1], axes_drawn.values(), strict=True):
        axes.set(xlabel=label, xlim=(0, None))
        count_large(axes.xaxis)
    figure.align_ylabels()
    note = "Loss and perplexity compare only rows with the same vocabulary."
    if "dev_bleu" in panels and drawing.is_lowercased:
        note += " BLEU takes no account of case where a row learns lower-cased text."
    if drawing.trainings != drawing.single_runs:
        note += " Rows that share a training are drawn as the first of them."
    shows = "Training set and split dev"
    return Picture(figure, points, shows, drawing.trainings, note, grid[0, 0])


def curve_points(drawing: Drawing, metrics: Collection[str] = PANELS) -> pd.DataFrame:
    """Return the points of all curves: one line for each row, metric of metrics.jsonl and update.

    Seeds are averaged where all of a row recorded the update.
    """
    parts = []
    for run in drawing.trainings:
        columns = {"experiment": run.experiment, "title": drawing.title(run.experiment)}
        parts.append(recorded_points(run, metrics).assign(**columns))
    keys = ["experiment", "title", "metric", "update"]
    by_update = pd.concat(parts).groupby(keys, sort=False)
    points = by_update.mean().rename(columns={"value": "mean"})
    points["lowest"] = by_update["value"].min()
    points["highest"] = by_update["value"].max()
    points["seeds"] = by_update.size()
    points = points.reset_index()
    names = [run.experiment for run in drawing.trainings]
    return points[points.seeds == points.experiment.map(names.count)].reset_index(drop=True)


def recorded_points(run: Run, metrics: Collection[str]) -> pd.DataFrame:
    """Return what one run recorded: a line for each metric and update, with tokens, time, FLOPs.

    Lines of dev scores give only the update: the rest is interpolated between training lines, of
    which the first has taken all since update 0.
    """
    training = run.training()
    columns = ["update", "target_tokens", "seconds", "flops", *metrics]
    lines = pd.DataFrame(run.metrics(), columns=columns)
    for key in ("target_tokens", "seconds", "flops"):
        known = lines[lines[key].notna()]
        if len(known):
            updates, values = [0, *known["update"]], [0, *known[key]]
            lines[key] = np.interp(lines["update"], updates, values)
    lines["device_seconds"] = (
        lines.pop("seconds") * training["device_seconds"] / training["seconds"]
    )
    points = lines.melt(id_vars=list(AXES), value_vars=list(metrics), var_name="metric")
    return points[points["value"].notna()]
