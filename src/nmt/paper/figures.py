"""The figures of curves, and FIGURES, the names of all."""

from collections.abc import Callable

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter

from nmt.paper.drawing import COLUMN, STYLE, Drawing, finish, sheet
from nmt.paper.heatmaps import attention, positional_encodings

PANELS = {
    "nll": "training loss",
    "dev_perplexity": "dev perplexity",
    "dev_bleu": "dev BLEU, greedy",
}
NAMED = 3  # rows with the same learning rate that the legend names
BESIDE = 0.05  # of the way to the next bucket: error bars stand side by side
FEWEST = 10  # sentences in a bucket: BLEU of fewer is left out, as it says nothing


def draw(name: str, drawing: Drawing) -> Figure:
    """The figure FIGURES[name]; the same rows and results give the same figure."""
    with matplotlib.rc_context(STYLE):
        return FIGURES[name](drawing)


def learning_curves(drawing: Drawing) -> Figure:
    """Training loss, dev perplexity and dev BLEU by update, a line for each run."""
    metrics = {(run.experiment, run.seed): run.metrics() for run in drawing.single}
    recorded = {key for lines in metrics.values() for line in lines for key in line}
    panels = {key: label for key, label in PANELS.items() if key in recorded}
    figure = sheet(COLUMN, 0.4 + 1.35 * len(panels))
    first_seed = drawing.reproduction.seeds[0]
    grid = figure.subplots(len(panels), sharex=True, squeeze=False)[:, 0]
    for axes, (key, label) in zip(grid, panels.items(), strict=True):
        for (experiment, seed), lines in metrics.items():
            points = recorded_points(lines, key)
            axes.plot(
                *points,
                **drawing.look(experiment),
                label=drawing.title(experiment) if seed == first_seed else None,
                marker="" if key == "nll" and points.shape[1] > 1 else ".",
                markersize=3.5,
                linewidth=1.1 if len(drawing.reproduction.seeds) == 1 else 0.7,
            )
        axes.set_ylabel(label)
        if key == "dev_perplexity":
            logarithmic(axes)
    axes.set_xlabel("update")
    axes.set_xlim(left=0)
    figure.align_ylabels()
    text = (
        "Loss is the negative log-likelihood of a subword in nats, without label smoothing; it and"
        " perplexity compare only rows with the same"
        f" vocabulary.{drawing.caseless() if 'dev_bleu' in panels else ''}"
    )
    return finish(
        figure, drawing.small_print("Training set and split dev", drawing.single, text), grid[0]
    )


def recorded_points(lines: list[dict], key: str) -> np.ndarray:
    """(2, n): the updates at which `key` was recorded, and its values; a short training may have
    none.
    """
    points = [(line["update"], line[key]) for line in lines if key in line]
    return np.reshape(points, (-1, 2)).T


def logarithmic(axes: Axes) -> None:
    """A logarithmic y axis with plain numbers."""
    axes.set_yscale("log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(NullFormatter())


def learning_rate(drawing: Drawing) -> Figure:
    """The learning rate as it was used; rows that used the same share a line."""
    recorded = [
        (recorded_points(run.metrics(), "learning_rate"), run.experiment) for run in drawing.single
    ]
    schedules: list[tuple[np.ndarray, list[str]]] = []  # of runs that stopped earlier the longest
    for points, experiment in sorted(recorded, key=lambda each: -each[0].shape[1]):
        same = (
            names
            for longer, names in schedules
            if np.array_equal(longer[:, : points.shape[1]], points)
        )
        if (names := next(same, None)) is None:
            schedules.append((points, names := []))
        names.append(experiment)
    order = {run.experiment: number for number, run in enumerate(drawing.single)}
    figure = sheet(COLUMN, 2.0)
    axes = figure.subplots()
    for points, experiments in schedules:
        names = sorted(set(experiments), key=order.__getitem__)
        label = "; ".join(map(drawing.title, names[:NAMED]))
        if len(names) > NAMED:
            label += f" and {len(names) - NAMED} more"
        axes.plot(
            *points,
            **drawing.look(names[0]),
            label=label,
            marker="" if points.shape[1] > 1 else ".",
        )
    axes.set_xlabel("update")
    axes.set_ylabel("learning rate")
    axes.set_xlim(left=0)
    axes.set_ylim(bottom=0)
    axes.ticklabel_format(axis="y", style="sci", scilimits=(0, 0))
    return finish(
        figure,
        drawing.small_print("Training set", drawing.single, "As recorded while training."),
        axes,
    )


def bleu_by_length(drawing: Drawing) -> Figure:
    """BLEU of the test sentences of each length, the mean over seeds with its standard deviation.

    Where a row has no capitals, no row's count.
    """
    split, several = drawing.table.split, len(drawing.reproduction.seeds) > 1
    key, label = (
        ("lowercased_bleu", "sacreBLEU, lower-cased")
        if drawing.lowercased
        else ("bleu", "sacreBLEU")
    )
    figure = sheet(COLUMN, 2.2)
    axes = figure.subplots()
    middle = (len(drawing.table.experiments) - 1) / 2
    for number, experiment in enumerate(drawing.table.experiments):
        buckets = [large_buckets(run.scores(split)) for run in drawing.of(experiment)]
        bleu = np.array(
            [[bucket[key] for bucket in of_run] for of_run in buckets]
        )  # (seeds, buckets)
        axes.errorbar(
            np.arange(bleu.shape[1]) + (BESIDE * (number - middle) if several else 0),
            bleu.mean(0),
            bleu.std(0, ddof=1) if len(bleu) > 1 else None,
            **drawing.look(experiment),
            label=drawing.title(experiment),
            marker="o",
            markersize=3,
            capsize=2,
            elinewidth=0.8,
        )
    axes.set_xticks(range(len(buckets[0])), [tick(bucket) for bucket in buckets[0]])
    axes.set_xlabel("source length in words (sentences)")
    axes.set_ylabel(f"BLEU ({label})")
    text = (
        f"Below each range of lengths: how many sentences it holds; ranges of fewer than {FEWEST}"
        " are left out."
    )
    if several:
        text += " Bars: standard deviation over seeds."
    return finish(figure, drawing.small_print(f"Split {split}", drawing.runs, text), axes)


def search(drawing: Drawing) -> Figure:
    """BLEU of the dev set against the beam and against the length penalty's exponent, the mean over
    seeds.
    """
    figure = sheet(COLUMN, 2.0)
    panels = figure.subplots(1, 2, sharey=True)
    for axes, (key, label) in zip(
        panels, {"beam": "beam", "alpha": "length penalty, alpha"}.items(), strict=True
    ):
        for experiment in dict.fromkeys(run.experiment for run in drawing.single):
            sweeps = [run.sweep()[key] for run in drawing.of(experiment)]
            settings = [point[key] for point in sweeps[0]]
            bleu = np.mean([[point["bleu"] for point in sweep] for sweep in sweeps], 0)
            name = drawing.title(experiment)
            axes.plot(
                settings, bleu, **drawing.look(experiment), label=name, marker="o", markersize=3
            )
        axes.set_xlabel(label)
    panels[0].set_xscale("log", base=2)
    panels[0].set_xticks(
        settings_of(drawing, "beam"), labels=map(str, settings_of(drawing, "beam"))
    )
    panels[0].set_ylabel("dev BLEU (sacreBLEU)")
    signatures = dict.fromkeys(run.sweep()["signature"] for run in drawing.single)
    text = (
        "What is not varied is the row's own. Means over seeds."
        f" {'; '.join(signatures)}.{drawing.caseless()}"
    )
    return finish(figure, drawing.small_print("Split dev", drawing.single, text), panels[0])


def settings_of(drawing: Drawing, key: str) -> list[float]:
    return [point[key] for point in drawing.single[0].sweep()[key]]


def large_buckets(scores: dict) -> list[dict]:
    return [bucket for bucket in scores["bleu_by_source_length"] if bucket["sentences"] >= FEWEST]


def tick(bucket: dict) -> str:
    low, high = bucket["from"], bucket["to"]
    span = f"{low}+" if high is None else f"{low}–{high - 1}"
    return f"{span}\n({bucket['sentences']})"


FIGURES: dict[str, Callable[[Drawing], Figure]] = {
    "learning-curves": learning_curves,
    "learning-rate": learning_rate,
    "positional-encodings": positional_encodings,
    "attention": attention,
    "bleu-by-length": bleu_by_length,
    "search": search,
}
