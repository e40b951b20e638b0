"""The figures that compare rows: quality by length, cost, size and search, and speed."""

import textwrap

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, LogLocator

from nmt.data.tokens import sentence_lengths
from nmt.evaluation.metrics import METRICS
from nmt.paper.drawing import (
    COLORS,
    COLUMN,
    DASHES,
    PAGE,
    Drawing,
    Picture,
    empty_figure,
    finish,
    new_figure,
)
from nmt.paper.measurements import run_results

# Error bars stand side by side, by at most these shares of the distance between two buckets: of
# one row from the next, and of all rows together.
OFFSET = 0.05
OFFSET_OF_ALL = 0.7
# Buckets of fewer sentences are left out, because their BLEU says nothing.
FEWEST_SENTENCES = 10
# The letters of a line of a bar's label.
LABEL_LETTERS = 30
# With more rows, the legend needs the width of a page.
ROWS_OF_A_COLUMN = 8
COST_LABELS = {
    "device_hours": "device-hours of training",
    "flops_6nd": "training FLOPs (6 N D + attention)",
    "parameters_millions": "parameters (millions)",
}


def bleu_by_length(drawing: Drawing) -> Picture:
    """Draw BLEU by source length, as the mean over seeds with its standard deviation.

    Where one row learns lower-cased text, case counts for no row.
    """
    split = drawing.table.split
    key = "lowercased_bleu" if drawing.lowercased_titles else "bleu"
    label = "sacreBLEU, lower-cased" if drawing.lowercased_titles else "sacreBLEU"
    data = length_points(drawing, key)
    if data.empty:
        return empty_figure(drawing, f"No range of lengths has {FEWEST_SENTENCES} sentences.")
    has_bars = data.seeds.max() > 1
    width = COLUMN if len(drawing.rows) <= ROWS_OF_A_COLUMN else PAGE
    figure = new_figure(width, 2.2)
    axes = figure.subplots()
    middle = (len(drawing.rows) - 1) / 2
    for number, (experiment, row) in enumerate(data.groupby("experiment", sort=False)):
        step = min(OFFSET, OFFSET_OF_ALL / len(drawing.rows)) if has_bars else 0
        offset = step * (number - middle)
        axes.errorbar(
            row.bucket + offset,
            row.bleu,
            row.sd if row.sd.notna().any() else None,
            **drawing.line_style(str(experiment)),
            label=drawing.title(str(experiment)),
            marker=drawing.marker(str(experiment)),
            markersize=3,
            capsize=2,
            elinewidth=0.8,
        )
    buckets = data.drop_duplicates("bucket")
    axes.set_xticks(buckets.bucket, list(buckets.label))
    axes.set_xlabel("source length in words (sentences)")
    axes.set_ylabel(f"BLEU ({label})")
    note = (
        "Below each range of lengths: how many sentences it holds; ranges of fewer than"
        f" {FEWEST_SENTENCES} are left out."
    )
    if has_bars:
        note += " Bars: standard deviation over seeds."
    small_print = drawing.small_print(f"Split {split}", drawing.runs, note)
    return Picture(finish(figure, small_print, axes), data)


def length_points(drawing: Drawing, key: str) -> pd.DataFrame:
    """Return BLEU by bucket of source length: one line for each row and bucket."""
    split = drawing.table.split
    scored = [run for run in drawing.runs if run.has("scores.json", f"{split}.")]
    points = []
    for run in scored or drawing.runs:
        buckets = run.scores(split, {"bleu_by_source_length": list})["bleu_by_source_length"]
        large = [bucket for bucket in buckets if bucket["sentences"] >= FEWEST_SENTENCES]
        for number, bucket in enumerate(large):
            point = {"experiment": run.experiment, "bucket": number, "label": bucket_label(bucket)}
            points.append(point | {"bleu": bucket[key]})
    frame = pd.DataFrame(points, columns=["experiment", "bucket", "label", "bleu"])
    groups = frame.groupby(["experiment", "bucket", "label"], sort=False).bleu
    return groups.agg(bleu="mean", sd="std", seeds="size").reset_index()


def bucket_label(bucket: dict) -> str:
    """Return the bucket's range of lengths, and below it the number of its sentences."""
    low = bucket["from"]
    high = bucket["to"]
    lengths = f"{low}+" if high is None else f"{low}–{high - 1}"
    return f"{lengths}\n({bucket['sentences']})"


def cost(drawing: Drawing) -> Picture:
    """Draw the quality of each row against its training's device-hours and FLOPs."""
    return quality(drawing, ["device_hours", "flops_6nd"])


def parameters(drawing: Drawing) -> Picture:
    """Draw the quality of each row against its parameters."""
    return quality(drawing, ["parameters_millions"])


def quality(drawing: Drawing, costs: list[str]) -> Picture:
    """Draw each row's quality against costs, a panel for each, with deviations over seeds."""
    metric = quality_metric(drawing.table.metrics)
    results = run_results(drawing.runs, drawing.table.split, [metric])
    rows = results.groupby("experiment", sort=False)
    data = rows[costs].mean()
    data[metric] = rows[metric].mean()
    data["sd"] = rows[metric].std()
    data["seeds"] = rows[metric].count()
    data = data[data.seeds > 0].reset_index()
    if data.empty:
        return empty_figure(drawing, f"No run of this table has a score of {metric}.")
    width = COLUMN if len(costs) == 1 and len(data) <= ROWS_OF_A_COLUMN else PAGE
    figure = new_figure(width, 2.2)
    grid = figure.subplots(1, len(costs), sharey=True, squeeze=False)[0]
    for axes, column in zip(grid, costs, strict=True):
        for _, row in data.iterrows():
            experiment = str(row.experiment)
            axes.errorbar(
                row[column],
                row[metric],
                row.sd if row.sd == row.sd else None,  # NaN: there is one seed
                color=drawing.line_style(experiment)["color"],
                marker=drawing.marker(experiment),
                markersize=4.5,
                linestyle="",
                capsize=2,
                elinewidth=0.8,
                label=drawing.title(experiment),
            )
        set_logarithmic_cost(axes, data[column])
        if column == "flops_6nd":
            axes.xaxis.set_major_formatter(EngFormatter(sep=""))
        axes.set_xlabel(COST_LABELS[column])
    grid[0].set_ylabel(METRICS[metric].label)
    note = "Logarithmic horizontally."
    if data.seeds.max() > 1:
        note += " Means over seeds; bars: standard deviation over them."
    small_print = drawing.small_print(f"Split {drawing.table.split}", drawing.runs, note)
    return Picture(finish(figure, small_print, grid[0]), data)


def quality_metric(metrics: list[str]) -> str:
    """Return the first metric that is computed from translations, else the first."""
    scores = [metric for metric in metrics if METRICS[metric].scorer]
    return scores[0] if scores else metrics[0]


def set_logarithmic_cost(axes: Axes, values: pd.Series) -> None:
    """Make the x axis logarithmic, with a few plain numbers however wide its range is."""
    axes.set_xscale("log")
    low = values.min() / 1.3
    high = values.max() * 1.3
    axes.set_xlim(low, high)
    decades = np.log10(high / low)
    subs: tuple[float, ...] = (1, 2, 5) if decades < 2.5 else (1,)
    if decades < 0.5:
        subs = (1, 1.5, 2, 3, 4, 5, 6, 8)
    axes.xaxis.set_major_locator(LogLocator(subs=subs, numticks=20))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter("")


def speed(drawing: Drawing) -> Picture:
    """Draw how many target tokens a second each row trained on, on one device."""
    runs = drawing.single_runs
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
    devices = ", ".join(dict.fromkeys(data.device))
    note = (
        f"Target tokens of training, time of validation included. Device: {devices}. Means over"
        " seeds."
    )
    return Picture(finish(figure, drawing.small_print("Training set", runs, note)), data)


def search(drawing: Drawing) -> Picture:
    """Draw dev BLEU against the beam and against the length penalty, as sweep.py measured it."""
    data = search_points(drawing)
    figure = new_figure(COLUMN, 2.0)
    beam_axes, alpha_axes = figure.subplots(1, 2, sharey=True)
    for axes, setting in ((beam_axes, "beam"), (alpha_axes, "alpha")):
        for experiment, row in data[data.setting == setting].groupby("experiment", sort=False):
            axes.plot(
                row.value,
                row.bleu,
                **drawing.line_style(str(experiment)),
                label=drawing.title(str(experiment)),
                marker=drawing.marker(str(experiment)),
                markersize=3,
            )
    beams = sorted({int(beam) for beam in data.value[data.setting == "beam"]})
    beam_axes.set_xscale("log", base=2)
    beam_axes.set_xticks(beams, labels=map(str, beams))
    beam_axes.set_xlabel("beam")
    beam_axes.set_ylabel("dev BLEU (sacreBLEU)")
    alpha_axes.set_xlabel("length penalty, alpha")
    signatures = dict.fromkeys(run.sweep()["signature"] for run in drawing.single_runs)
    note = (
        "What is not varied is the row's own. Means over seeds."
        f" {'; '.join(signatures)}.{drawing.case_note()}"
    )
    small_print = drawing.small_print("Split dev", drawing.single_runs, note)
    return Picture(finish(figure, small_print, beam_axes), data)


def search_points(drawing: Drawing) -> pd.DataFrame:
    """Return dev BLEU and relative length by beam and by alpha, as means over a row's seeds."""
    points = [
        {
            "experiment": run.experiment,
            "setting": setting,
            "value": point[setting],
            "bleu": point["bleu"],
            "length": point["length"],
        }
        for run in drawing.single_runs
        for setting in ("beam", "alpha")
        for point in run.sweep()[setting]
    ]
    groups = pd.DataFrame(points).groupby(["experiment", "setting", "value"], sort=False)
    return groups[["bleu", "length"]].mean().reset_index()


def subword_lengths(drawing: Drawing) -> Picture:
    """Draw how many subwords the training sentences have in each vocabulary of the table."""
    figure = new_figure(COLUMN, 1.9)
    grid = figure.subplots(1, 2, sharex=True, sharey=True)
    data = length_shares(drawing)
    for number, (vocabulary, rows) in enumerate(data.groupby("vocabulary", sort=False)):
        style = {"color": COLORS[number % len(COLORS)], "linestyle": DASHES[number % len(DASHES)]}
        for axes, side in zip(grid, ("source", "target"), strict=True):
            shares = rows[rows.side == side]
            axes.plot(shares.subwords, 100 * shares.share, label=vocabulary, **style)
    for axes, side in zip(grid, ("source", "target"), strict=True):
        axes.set_title(side)
        axes.set_xlim(left=0)
        axes.set_ylim(bottom=0)
        axes.set_xlabel("subwords of a sentence")
    grid[0].set_ylabel("sentences (%)")
    note = "The last point of a line is the longest sentence; ends of sentences are not counted."
    small_print = drawing.small_print("Training set", drawing.single_runs, note)
    return Picture(finish(figure, small_print, grid[0]), data)


def length_shares(drawing: Drawing) -> pd.DataFrame:
    """Return the share of sentences by number of subwords, for each vocabulary and side."""
    names = dict.fromkeys(run.experiment for run in drawing.single_runs)
    vocabularies = [drawing.catalog.experiment(name).vocabulary for name in names]
    parts = []
    for vocabulary in dict.fromkeys(vocabularies):
        folder = drawing.folder.parent / "corpora" / drawing.reproduction.corpus / vocabulary
        for side in ("source", "target"):
            counts = np.bincount(sentence_lengths(folder / "tokens" / "train", side))
            part = {"subwords": np.arange(len(counts)), "share": counts / counts.sum()}
            parts.append(pd.DataFrame({"vocabulary": vocabulary, "side": side, **part}))
    return pd.concat(parts, ignore_index=True)
