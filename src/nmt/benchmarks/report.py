"""Measurements of training speed as a table and a figure."""

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmt.paper.drawing import COLORS, PAGE, STYLE, finish, new_figure

PHASES = ("data", "forward", "backward", "optimizer")
NOTE = (
    "In brackets are the lowest and the highest round. MFU: the rate of the model's own products,"
    " as a share of that of a large matrix product measured beside it. To X: the ratio of target"
    " tokens a second to those of X, of the medians and round by round. Phases: time for 1,000"
    " target tokens, clipping with the backward pass."
)


def medians(measurements: pd.DataFrame) -> pd.DataFrame:
    """This version's, a line for each experiment, in the order of the measurements.

    measurements: a line each, with `experiment`, `version` and the values of
      nmt.benchmarks.training_speed.Speed.
    """
    ours = measurements[measurements.version == "this"].drop(columns="version")
    return ours.groupby("experiment", sort=False).median()


def rounds(measurements: pd.DataFrame, what: str, value: str) -> pd.DataFrame:
    """The `value` of each `what`, a column each in the order of the measurements; a line for each
    round.
    """
    counted = measurements.assign(round=measurements.groupby(what).cumcount())
    return counted.pivot(index="round", columns=what, values=value)[measurements[what].unique()]


def spread(middle: float, each: pd.Series, form: str) -> str:
    return f"{middle:{form}} ({each.min():{form}} to {each.max():{form}})"


def ratio(ours: pd.Series, theirs: pd.Series) -> str:
    """Of the medians; in brackets the lowest and the highest of a round."""
    return spread(ours.median() / theirs.median(), ours / theirs, ".2f")


def markdown(measurements: pd.DataFrame, about: str) -> str:
    """Of versions other than "this", target_tokens_per_second is enough."""
    table = medians(measurements)
    rates = {
        name: rounds(found, "version", "target_tokens_per_second")
        for name, found in measurements.groupby("experiment", sort=False)
    }
    others = [version for version in measurements.version.unique() if version != "this"]
    columns = {
        "target tokens/s": [
            spread(rate.this.median(), rate.this, ",.0f") for rate in rates.values()
        ],
        "padding": table.padding.map("{:.1%}".format),
        "MFU": table.mfu.map("{:.1%}".format),
        "memory (GB)": (table.memory / 1e9).map("{:.2f}".format),
    }
    columns |= {f"{phase} (ms)": table[phase].map("{:.1f}".format) for phase in PHASES}
    columns |= {
        f"to {other}": [ratio(rate.this, rate[other]) for rate in rates.values()]
        for other in others
    }
    drawn_up = pd.DataFrame(columns, table.index).to_markdown(
        disable_numparse=True, stralign="right"
    )
    return f"{drawn_up}\n\n{about} {NOTE}\n"


def drawn(measurements: pd.DataFrame, about: str) -> Figure:
    """A bar for each experiment: where the time goes."""
    table = medians(measurements)
    with rc_context(STYLE):
        figure = new_figure(PAGE, 0.5 + 0.2 * len(table))
        axes = figure.subplots()
        left = 0
        for phase, color in zip(PHASES, COLORS, strict=False):
            axes.barh(table.index, table[phase], left=left, label=phase, color=color)
            left = left + table[phase]
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("milliseconds for 1,000 target tokens")
        return finish(figure, f"{about} {NOTE}", axes)
