"""The figure of beam search: BLEU by beam and by length penalty."""

import pandas as pd

from nmt.paper.drawing import COLUMN, Drawing, Picture, new_figure


def search(drawing: Drawing) -> Picture:
    """Draw dev BLEU against the beam and against the length penalty, as sweep.py measured it."""
    runs = drawing.single_runs
    sweeps = {run: run.read("dev.sweep.json", ["beam", "alpha", "signature"]) for run in runs}
    points = [
        (run.experiment, setting, point[setting], point["bleu"], point["length"])
        for run, sweep in sweeps.items()
        for setting in ("beam", "alpha")
        for point in sweep[setting]
    ]
    keys = ["experiment", "setting", "value"]
    data = pd.DataFrame(points, columns=[*keys, "bleu", "length"])
    data = data.groupby(keys, sort=False).mean().reset_index()
    figure = new_figure(COLUMN, 2.0)
    beam_axes, alpha_axes = figure.subplots(1, 2, sharey=True)
    for axes, setting in ((beam_axes, "beam"), (alpha_axes, "alpha")):
        drawing.plot(axes, data[data.setting == setting], "value", "bleu")
    beams = sorted({int(beam) for beam in data.value[data.setting == "beam"]})
    beam_axes.set_xscale("log", base=2)
    beam_axes.set_xticks(beams, labels=map(str, beams))
    beam_axes.set(xlabel="beam", ylabel="dev BLEU (sacreBLEU)")
    alpha_axes.set_xlabel("length penalty, alpha")
    signatures = dict.fromkeys(sweep["signature"] for sweep in sweeps.values())
    note = f"Means over seeds. {'; '.join(signatures)}"
    return Picture(figure, data, "Split dev", runs, note, beam_axes)
