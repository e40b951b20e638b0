"""The figure of beam search: BLEU by beam and by length penalty."""

from collections.abc import Sequence

import pandas as pd

from nmt.paper.drawing import COLUMN, Drawing, Picture, new_figure
from nmt.paper.results import Run


def search(drawing: Drawing) -> Picture:
    """Draw dev BLEU against the beam and against the length penalty, as sweep.py measured it."""
    data = search_points(drawing.single_runs)
    figure = new_figure(COLUMN, 2.0)
    beam_axes, alpha_axes = figure.subplots(1, 2, sharey=True)
    for axes, setting in ((beam_axes, "beam"), (alpha_axes, "alpha")):
        drawing.plot(axes, data[data.setting == setting], "value", "bleu")
    beams = sorted({int(beam) for beam in data.value[data.setting == "beam"]})
    beam_axes.set_xscale("log", base=2)
    beam_axes.set_xticks(beams, labels=map(str, beams))
    beam_axes.set(xlabel="beam", ylabel="dev BLEU (sacreBLEU)")
    alpha_axes.set_xlabel("length penalty, alpha")
    signatures = dict.fromkeys(
        run.read("dev.sweep.json")["signature"] for run in drawing.single_runs
    )
    note = f"Means over seeds. {'; '.join(signatures)}"
    return Picture(figure, data, "Split dev", drawing.single_runs, note, beam_axes)


def search_points(runs: Sequence[Run]) -> pd.DataFrame:
    """Return dev BLEU and relative length by beam and by alpha, as means over a row's seeds."""
    points = [
        {
            "experiment": run.experiment,
            "setting": setting,
            "value": point[setting],
            "bleu": point["bleu"],
            "length": point["length"],
        }
        for run in runs
        for setting in ("beam", "alpha")
        for point in run.read("dev.sweep.json", ["beam", "alpha", "signature"])[setting]
    ]
    groups = pd.DataFrame(points).groupby(["experiment", "setting", "value"], sort=False)
    return groups[["bleu", "length"]].mean().reset_index()
