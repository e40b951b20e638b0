"""The figures of curves, and FIGURES, the names of all."""

from collections.abc import Callable

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from nmt.paper.drawing import COLUMN, STYLE, Drawing, finish, new_figure
from nmt.paper.heatmaps import attention, positional_encodings
from nmt.paper.results import Run, commits
from nmt.provenance import commit

# The panels of learning curves, by the key in metrics.jsonl.
PANELS = {
    "nll": "training loss",
    "dev_perplexity": "dev perplexity",
    "dev_bleu": "dev BLEU, greedy",
}
# Figures that need no run
FORMULAS = {"positional-encodings"}
# Of rows with the same learning rate, the legend names so many.
MOST_NAMED = 3
# Error bars stand side by side, by this share of the distance between two buckets.
OFFSET = 0.05
# Buckets of fewer sentences are left out, because their BLEU says nothing.
FEWEST_SENTENCES = 10


def origin(name: str, drawing: Drawing) -> str:
    """Return the commits that trained the table's runs, or for a formula the code's own."""
    return f"Commit {commit() if name in FORMULAS else commits(drawing.runs)}"


def draw(name: str, drawing: Drawing) -> Figure:
    """Return the figure FIGURES[name]; the same rows and results give the same figure."""
    with matplotlib.rc_context(STYLE):
        return FIGURES[name](drawing)


def learning_curves(drawing: Drawing) -> Figure:
    """Draw training loss, dev perplexity and dev BLEU by update, with a line for each run."""
    metrics = [run.metrics() for run in drawing.single_runs]
    recorded = {key for lines in metrics for line in lines for key in line}
    panels = {key: label for key, label in PANELS.items() if key in recorded}
    figure = new_figure(COLUMN, 0.4 + 1.35 * len(panels))
    grid = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for axes, (key, label) in zip(grid, panels.items(), strict=True):
        for run, lines in zip(drawing.single_runs, metrics, strict=True):
            draw_curve(axes, drawing, run, key, recorded_points(lines, key))
        axes.set_ylabel(label)
        if key == "dev_perplexity":
            set_logarithmic(axes)
    axes.set_xlabel("update")
    axes.set_xlim(left=0)
    figure.align_ylabels()
    note = (
        "Loss is the negative log-likelihood of a subword in nats, without label smoothing; it and"
        " perplexity compare only rows with the same vocabulary."
    )
    if "dev_bleu" in panels:
        note += drawing.case_note()
    small_print = drawing.small_print("Training set and split dev", drawing.single_runs, note)
    return finish(figure, small_print, grid[0])


def draw_curve(axes: Axes, drawing: Drawing, run: Run, key: str, points: np.ndarray) -> None:
    """Draw the points (2, n) of one run; the first seed's curve has its row's label."""
    is_first_seed = run.seed == drawing.reproduction.seeds[0]
    # Dev scores are far apart, and a single point has no line.
    has_marker = key != "nll" or points.shape[1] <= 1
    axes.plot(
        *points,
        **drawing.line_style(run.experiment),
        label=drawing.title(run.experiment) if is_first_seed else None,
        marker="." if has_marker else "",
        markersize=3.5,
        linewidth=1.1 if len(drawing.reproduction.seeds) == 1 else 0.7,
    )


def recorded_points(lines: list[dict], key: str) -> np.ndarray:
    """Return the updates at which `key` was recorded, and its values (2, n).

    A short training may have recorded none.
    """
    points = [(line["update"], line[key]) for line in lines if key in line]
    return np.reshape(points, (-1, 2)).T


def set_logarithmic(axes: Axes) -> None:
    """Make the y axis logarithmic, with plain numbers."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def learning_rate(drawing: Drawing) -> Figure:
    """Draw the learning rate as it was used; rows that used the same share a line."""
    order = {run.experiment: number for number, run in enumerate(drawing.single_runs)}
    figure = new_figure(COLUMN, 2.0)
    axes = figure.subplots()
    for points, experiments in learning_rate_schedules(drawing.single_runs):
        names = sorted(set(experiments), key=order.__getitem__)
        label = "; ".join(map(drawing.title, names[:MOST_NAMED]))
        if len(names) > MOST_NAMED:
            label += f" and {len(names) - MOST_NAMED} more"
        marker = "" if points.shape[1] > 1 else "."
        axes.plot(*points, **drawing.line_style(names[0]), label=label, marker=marker)
    axes.set_xlabel("update")
    axes.set_ylabel("learning rate")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    small_print = drawing.small_print(
        "Training set", drawing.single_runs, "As recorded while training."
    )
    return finish(figure, small_print, axes)


def learning_rate_schedules(runs: list[Run]) -> list[tuple[np.ndarray, list[str]]]:
    """Return each learning rate's points (2, n), and the experiments of the runs that used it.

    Of runs that stopped at different updates, the points are those of the longest.
    """
    recorded = [(recorded_points(run.metrics(), "learning_rate"), run.experiment) for run in runs]
    longest_first = sorted(recorded, key=lambda points_and_name: -points_and_name[0].shape[1])
    schedules: list[tuple[np.ndarray, list[str]]] = []
    for points, experiment in longest_first:
        for longer, experiments in schedules:
            if np.array_equal(longer[:, : points.shape[1]], points):
                experiments.append(experiment)
                break
        else:
            schedules.append((points, [experiment]))
    return schedules


def bleu_by_length(drawing: Drawing) -> Figure:
    """Draw BLEU by source length, as the mean over seeds with its standard deviation.

    Where one row learns lower-cased text, case counts for no row.
    """
    split = drawing.table.split
    key = "lowercased_bleu" if drawing.lowercased_titles else "bleu"
    label = "sacreBLEU, lower-cased" if drawing.lowercased_titles else "sacreBLEU"
    has_bars = len(drawing.reproduction.seeds) > 1
    figure = new_figure(COLUMN, 2.2)
    axes = figure.subplots()
    middle = (len(drawing.table.experiments) - 1) / 2
    for number, experiment in enumerate(drawing.table.experiments):
        scores = [
            run.scores(split, ["bleu_by_source_length"]) for run in drawing.runs_of(experiment)
        ]
        buckets = [large_buckets(run_scores) for run_scores in scores]
        bleu = np.array([[bucket[key] for bucket in run_buckets] for run_buckets in buckets])
        offset = OFFSET * (number - middle) if has_bars else 0
        axes.errorbar(
            np.arange(bleu.shape[1]) + offset,
            bleu.mean(0),
            bleu.std(0, ddof=1) if len(bleu) > 1 else None,
            **drawing.line_style(experiment),
            label=drawing.title(experiment),
            marker="o",
            markersize=3,
            capsize=2,
            elinewidth=0.8,
        )
    axes.set_xticks(range(len(buckets[0])), [bucket_label(bucket) for bucket in buckets[0]])
    axes.set_xlabel("source length in words (sentences)")
    axes.set_ylabel(f"BLEU ({label})")
    note = (
        "Below each range of lengths: how many sentences it holds; ranges of fewer than"
        f" {FEWEST_SENTENCES} are left out."
    )
    if has_bars:
        note += " Bars: standard deviation over seeds."
    return finish(figure, drawing.small_print(f"Split {split}", drawing.runs, note), axes)


def large_buckets(scores: dict) -> list[dict]:
    """Return the buckets of source length that hold enough sentences."""
    return [
        bucket
        for bucket in scores["bleu_by_source_length"]
        if bucket["sentences"] >= FEWEST_SENTENCES
    ]


def bucket_label(bucket: dict) -> str:
    """Return the bucket's range of lengths, and below it the number of its sentences."""
    low = bucket["from"]
    high = bucket["to"]
    lengths = f"{low}+" if high is None else f"{low}–{high - 1}"
    return f"{lengths}\n({bucket['sentences']})"


def search(drawing: Drawing) -> Figure:
    """Draw dev BLEU against the beam and against the length penalty's exponent.

    Values are means over seeds.
    """
    figure = new_figure(COLUMN, 2.0)
    beam_axes, alpha_axes = figure.subplots(1, 2, sharey=True)
    draw_sweep(beam_axes, drawing, "beam")
    draw_sweep(alpha_axes, drawing, "alpha")
    beams = [point["beam"] for point in drawing.single_runs[0].sweep()["beam"]]
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
    return finish(figure, drawing.small_print("Split dev", drawing.single_runs, note), beam_axes)


def draw_sweep(axes: Axes, drawing: Drawing, key: str) -> None:
    """Draw each row's dev BLEU against one setting of the search: beam or alpha."""
    for experiment in dict.fromkeys(run.experiment for run in drawing.single_runs):
        sweeps = [run.sweep()[key] for run in drawing.runs_of(experiment)]
        bleu = np.mean([[point["bleu"] for point in sweep] for sweep in sweeps], 0)
        axes.plot(
            [point[key] for point in sweeps[0]],
            bleu,
            **drawing.line_style(experiment),
            label=drawing.title(experiment),
            marker="o",
            markersize=3,
        )


FIGURES: dict[str, Callable[[Drawing], Figure]] = {
    "learning-curves": learning_curves,
    "learning-rate": learning_rate,
    "positional-encodings": positional_encodings,
    "attention": attention,
    "bleu-by-length": bleu_by_length,
    "search": search,
}
