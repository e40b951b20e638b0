"""The figures of what was recorded while training: learning curves and the learning rate."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, LogLocator, MaxNLocator, NullFormatter

from nmt.paper.drawing import COLUMN, PAGE, Drawing, Picture, new_figure, nothing
from nmt.paper.results import Run

# The rows of panels of learning curves, by the key in metrics.jsonl.
PANELS = {
    "nll": "training loss (nats)",
    "dev_perplexity": "dev perplexity",
    "dev_bleu": "dev BLEU, greedy",
}
# The columns of panels, and what metrics.jsonl calls them.
AXES = {
    "update": "updates",
    "target_tokens": "target tokens",
    "device_seconds": "device-seconds",
    "flops": "training FLOPs",
}
# The legend names at most this many of the rows that share a learning rate.
MOST_NAMED = 3


def learning_curves(drawing: Drawing) -> Picture:
    """Draw loss, dev perplexity and dev BLEU against updates, tokens, device-seconds and FLOPs.

    A row is the mean over its seeds, in a band of one standard deviation.
    """
    points = curve_points(drawing)
    if points.empty:
        return nothing("No training of this table has left a log.")
    panels = {key: label for key, label in PANELS.items() if key in set(points.metric)}
    axes_drawn = {key: label for key, label in AXES.items() if points[key].notna().all()}
    figure = new_figure(PAGE, 0.3 + 1.25 * len(panels))
    grid = figure.subplots(len(panels), len(axes_drawn), sharex="col", sharey="row", squeeze=False)
    for row, (metric, label) in zip(grid, panels.items(), strict=True):
        for axes, key in zip(row, axes_drawn, strict=True):
            draw_curves(axes, drawing, points[points.metric == metric], key)
        row[0].set_ylabel(label)
        finite = np.isfinite(points["mean"][points.metric == metric])
        if metric == "dev_perplexity" and finite.any():
            row[0].set_yscale("log")
            row[0].yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            row[0].yaxis.set_major_formatter("{x:g}")
            row[0].yaxis.set_minor_formatter(NullFormatter())
    for axes, label in zip(grid[-1], axes_drawn.values(), strict=True):
        axes.set(xlabel=label, xlim=(0, None))
        axes.xaxis.set_major_locator(MaxNLocator(4))
        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    figure.align_ylabels()
    note = "Loss and perplexity compare only rows with the same vocabulary."
    if "dev_bleu" in panels and drawing.is_lowercased:
        note += " BLEU takes no account of case where a row learns lower-cased text."
    shows = "Training set and split dev"
    return Picture(figure, points, shows, drawing.single_runs, note, grid[0, 0])


def curve_points(drawing: Drawing) -> pd.DataFrame:
    """Return the points of all curves: one line for each row, metric and update.

    Seeds are averaged where all of a row recorded the update; sd is empty with one seed.
    """
    parts = []
    for experiment in dict.fromkeys(run.experiment for run in drawing.single_runs):
        runs = [run for run in drawing.single_runs if run.experiment == experiment]
        recorded = pd.concat([recorded_points(run) for run in runs])
        by_update = recorded.groupby(["metric", "update"], sort=False)
        means = by_update.mean()
        means["sd"] = by_update["value"].std()
        means["seeds"] = by_update.size()
        means = means[means.seeds == len(runs)].reset_index()
        means.insert(0, "title", drawing.title(experiment))
        means.insert(0, "experiment", experiment)
        parts.append(means.rename(columns={"value": "mean"}))
    return pd.concat(parts, ignore_index=True)


def recorded_points(run: Run) -> pd.DataFrame:
    """Return what one run recorded: a line for each metric and update, with tokens, time, FLOPs.

    Lines of dev scores give only the update: the rest is interpolated between training lines, of
    which the first has taken all since update 0.
    """
    lines = run.metrics()
    training = run.training()
    devices = training["device_seconds"] / training["seconds"] if training["seconds"] else 1
    points = [
        {"metric": metric, "update": line["update"], "value": line[metric]}
        for metric in PANELS
        for line in lines
        if metric in line
    ]
    frame = pd.DataFrame(points, columns=["metric", "update", "value"])
    for key, name, factor in (
        ("target_tokens", "target_tokens", 1),
        ("device_seconds", "seconds", devices),
        ("flops", "flops", 1),
    ):
        known = [(line["update"], line[name]) for line in lines if name in line]
        points_known = np.array([(0, 0), *known]).T
        frame[key] = factor * np.interp(frame["update"], *points_known) if known else np.nan
    return frame


def draw_curves(axes: Axes, drawing: Drawing, points: pd.DataFrame, key: str) -> None:
    """Draw each row's mean and band of one metric against one of AXES."""
    for experiment, curve in points.groupby("experiment", sort=False):
        style = drawing.style(str(experiment))
        # Of the panel's size, because losses are many and close together; matplotlib would leave
        # out the marker of a single point.
        every = 0.15 if len(curve) > 1 else None
        axes.plot(curve[key], curve["mean"], **style, markersize=2.2, markevery=every)
        low = curve["mean"] - curve.sd
        high = curve["mean"] + curve.sd
        axes.fill_between(curve[key], low, high, color=style["color"], alpha=0.2, linewidth=0)


def learning_rate(drawing: Drawing) -> Picture:
    """Draw the learning rate as it was used; rows that used the same share a line."""
    figure = new_figure(COLUMN, 2.0)
    axes = figure.subplots()
    data = []
    rows: dict[tuple, list[str]] = {}  # by schedule
    for run in drawing.first_runs:
        lines = [line for line in run.metrics() if "learning_rate" in line]
        schedule = tuple((line["update"], line["learning_rate"]) for line in lines)
        rows.setdefault(schedule, []).append(run.experiment)
    for schedule, names in rows.items():
        points = pd.DataFrame(list(schedule), columns=["update", "learning_rate"])
        label = "; ".join(map(drawing.title, names[:MOST_NAMED]))
        if len(names) > MOST_NAMED:
            label += f" and {len(names) - MOST_NAMED} more"
        style = drawing.style(names[0]) | {"label": label, "marker": "" if len(points) > 1 else "."}
        axes.plot(points["update"], points.learning_rate, **style)
        data.append(points.assign(experiments=", ".join(names)))
    axes.set(xlabel="updates", ylabel="learning rate", xlim=(0, None), ylim=(0, None))
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    recorded = pd.concat(data, ignore_index=True)
    return Picture(figure, recorded, "Training set", drawing.first_runs, legend_of=axes)
