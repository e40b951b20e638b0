"""Measurements of training speed as a table and a figure."""

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmt.paper.drawing import COLOURS, PAGE, STYLE, finish, sheet

PHASES = ("data", "forward", "backward", "optimiser")
NOTE = (
    "MFU: the rate of the model's own products, as a share of that of a large matrix product measured beside it. "
    "To X: the ratio of target tokens a second to those of X. Phases: time for 1,000 target tokens, clipping with the "
    "backward pass."
)


def medians(measurements: pd.DataFrame) -> pd.DataFrame:
    """A line for each experiment, in the order of the measurements.

    measurements: a line each, with `experiment`, `version` and the values of nmt.training.speed.Speed; of versions
    other than "this", target_tokens_per_second is enough, and `to VERSION` is the ratio of this one's to theirs.
    """
    found = measurements.groupby(["version", "experiment"], sort=False).median()
    table, rate = found.loc["this"], found.target_tokens_per_second
    others = [version for version in found.index.unique("version") if version != "this"]
    return table.assign(**{f"to {version}": rate["this"] / rate[version] for version in others})


def markdown(table: pd.DataFrame, about: str) -> str:
    columns = {
        "target tokens/s": table.target_tokens_per_second.map("{:,.0f}".format),
        "padding": table.padding.map("{:.1%}".format),
        "MFU": table.mfu.map("{:.1%}".format),
        "memory (GB)": (table.memory / 1e9).map("{:.2f}".format),
    }
    columns |= {f"{phase} (ms)": table[phase].map("{:.1f}".format) for phase in PHASES}
    columns |= {name: table[name].map("{:.2f}".format) for name in table if name.startswith("to ")}
    return f"{pd.DataFrame(columns).to_markdown(disable_numparse=True, stralign='right')}\n\n{about} {NOTE}\n"


def drawn(table: pd.DataFrame, about: str) -> Figure:
    """A bar for each experiment: where the time goes."""
    with rc_context(STYLE):
        figure = sheet(PAGE, 0.5 + 0.2 * len(table))
        axes = figure.subplots()
        left = 0
        for phase, colour in zip(PHASES, COLOURS, strict=False):
            axes.barh(table.index, table[phase], left=left, label=phase, color=colour)
            left = left + table[phase]
        axes.invert_yaxis()
        axes.grid(axis="y", visible=False)
        axes.set_xlabel("milliseconds for 1,000 target tokens")
        return finish(figure, f"{about} {NOTE}", axes)
