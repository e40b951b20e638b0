"""Measurements of training speed as a table and a figure."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure

from nmt.files import write_text
from nmt.paper.drawing import COLORS, PAGE, STYLE, finish, new_figure
from nmt.progress import progress

PHASES = ("data", "forward", "backward", "optimizer")
NOTE = (
    "In brackets are the lowest and the highest round. MFU: the rate of the model's own products,"
    " as a share of that of a large matrix product measured beside it. To X: the ratio of target"
    " tokens a second to those of X, of the medians and round by round. Phases: time for 1,000"
    " target tokens, clipping with the backward pass."
)


def medians(measurements: pd.DataFrame) -> pd.DataFrame:
    """Return the medians of version "this", one line for each experiment, in measured order.

    measurements: one line each, with `experiment`, `version` and the values of
      nmt.benchmarks.training_speed.Speed.
    """
    ours = measurements[measurements.version == "this"].drop(columns="version")
    return ours.groupby("experiment", sort=False).median()


def rounds(measurements: pd.DataFrame, key: str, value: str) -> pd.DataFrame:
    """Return column `value` with one line for each round and one column for each `key`.

    Columns are in the order of the measurements.
    """
    numbered = measurements.assign(round=measurements.groupby(key).cumcount())
    table = numbered.pivot(index="round", columns=key, values=value)
    return table[measurements[key].unique()]


def spread(median: float, values: pd.Series, number_format: str) -> str:
    """Return the median, and in brackets the lowest and the highest value."""
    lowest = f"{values.min():{number_format}}"
    highest = f"{values.max():{number_format}}"
    return f"{median:{number_format}} ({lowest} to {highest})"


def ratio(ours: pd.Series, theirs: pd.Series) -> str:
    """Return the ratio of the medians, and in brackets the lowest and the highest of a round."""
    return spread(ours.median() / theirs.median(), ours / theirs, ".2f")


def measured_in_turn(
    turns: list[dict[str, str]], measure: Callable[..., dict], csv: Path
) -> pd.DataFrame:
    """Return a line for each turn: its own columns, and what `measure` returns of them.

    All lines so far are written to `csv` after every measurement, because a later one may fail.
    """
    records = []
    for turn in progress(turns, "benchmark", len(turns), "measurements"):
        records.append(turn | measure(**turn))
        write_text(csv, pd.DataFrame(records).to_csv(index=False))
    return pd.DataFrame(records)


def speeds(measurements: pd.DataFrame, key: str, value: str, number_format: str) -> pd.DataFrame:
    """Return the cells of a table with a line for each `key`, of which "this" is compared.

    value: the column with the speed, and "to this" how many times as fast "this" is.
    """
    rates = rounds(measurements, key, value)
    columns = {
        value.replace("_per_second", "/s").replace("_", " "): [
            spread(rates[name].median(), rates[name], number_format) for name in rates
        ],
        "to this": [ratio(rates["this"], rates[name]) for name in rates],
    }
    return pd.DataFrame(columns, rates.columns)


def markdown(measurements: pd.DataFrame, about: str) -> str:
    """Return the table, followed by `about` and what its columns mean.

    Of versions other than "this", target_tokens_per_second is enough.
    """
    table = medians(measurements)
    rates = [
        rounds(measurements_of_row, "version", "target_tokens_per_second")
        for _, measurements_of_row in measurements.groupby("experiment", sort=False)
    ]
    columns = {
        "target tokens/s": [spread(rate.this.median(), rate.this, ",.0f") for rate in rates],
        "padding": table.padding.map("{:.1%}".format),
        "MFU": table.mfu.map("{:.1%}".format),
        "memory (GB)": (table.memory / 1e9).map("{:.2f}".format),
    }
    for phase in PHASES:
        columns[f"{phase} (ms)"] = table[phase].map("{:.1f}".format)
    for version in measurements.version.unique():
        if version != "this":
            columns[f"to {version}"] = [ratio(rate.this, rate[version]) for rate in rates]
    cells = pd.DataFrame(columns, table.index)
    text = cells.to_markdown(disable_numparse=True, stralign="right")
    return f"{text}\n\n{about} {NOTE}\n"


def draw(measurements: pd.DataFrame, about: str) -> Figure:
    """Draw a bar for each experiment that shows where the time goes."""
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
