"""The cells of a table of results as text, in parts that fit a page."""

from dataclasses import dataclass, field

import pandas as pd

from nmt.evaluation.metrics import COSTS, METRICS
from nmt.paper.notes import MARK
from nmt.paper.tables import COST_COLUMNS, ResultTable

# By column: what its header says, how our numbers are printed, and how published ones are. Papers'
# scores keep the digits that they have, perplexities have two.
LABELS = {name: metric.label for name, metric in METRICS.items()}
LABELS |= {column: COSTS[name].label for name, column in COST_COLUMNS.items()}
FORMATS = dict.fromkeys(METRICS, "{:.2f}")
FORMATS |= {"parameters_millions": "{:.2f}", "flops_6nd": "{:.1e}"}
PUBLISHED_FORMATS = dict.fromkeys(METRICS, "{}")
PUBLISHED_FORMATS |= {
    "perplexity": "{:.2f}",
    "parameters_millions": "{:g}",
    "flops_6nd": "{:.1e}",
}
# What AIAYN's Table 3 calls the settings, and how they are printed.
SETTINGS = {
    "layers": ("N", "{:g}"),
    "d_model": ("d_model", "{:g}"),
    "d_ff": ("d_ff", "{:g}"),
    "heads": ("h", "{:g}"),
    "d_k": ("d_k", "{:g}"),
    "d_v": ("d_v", "{:g}"),
    "dropout": ("P_drop", "{}"),  # 0.0, not 0
    "label_smoothing": ("eps_ls", "{}"),
    "updates": ("updates", "{:,.0f}"),
}


@dataclass(frozen=True)
class Sheet:
    """A table as text, ready to be written in any form.

    parts: cells, below each other. data: what is written as CSV.
    names: the experiment or ensemble of each row of the parts that shows one, by its index.
    """

    title: str
    parts: list[pd.DataFrame]
    data: pd.DataFrame
    notes: list[str]
    names: dict[int, str] = field(default_factory=dict)


def result_sheet(table: ResultTable) -> Sheet:
    """Return a table of results as text: scores, costs, speed, and the seeds where several ran.

    A table with a base has its settings beside the scores, as AIAYN's Table 3, and then the
    differences to the base, ours and published.
    """
    scores = [variation_cells(table), difference_cells(table)] if table.base else None
    parts = [*(scores or [score_cells(table)]), cost_cells(table), speed_cells(table)]
    if (table.rows.runs > 1).any():
        parts.append(seed_cells(table))
    sources = [f"[{number}] {source}." for number, source in enumerate(table.sources, start=1)]
    names = table.rows.experiment.dropna().to_dict()
    return Sheet(table.title, parts, table.rows, [*table.notes, *sources], names)


def title_cells(rows: pd.DataFrame) -> pd.Series:
    """Return the titles of the rows: cited ones say so, those that a note explains have a mark."""
    titles = rows.title.where(rows.kind == "run", rows.title + " (published only)")
    needs_note = rows.state.fillna("").ne("") & (rows.state != "not run")
    return titles.where(~needs_note, titles + f" {MARK}").rename("system")


def score_cells(table: ResultTable) -> pd.DataFrame:
    """Return the part of the table on scores, as text."""
    return number_cells(table, table.metrics).assign(
        seeds=format_numbers(table.rows.runs, "{:.0f}")
    )


def variation_cells(table: ResultTable) -> pd.DataFrame:
    """Return settings and scores, as AIAYN's Table 3 has them: blank where they are the base's."""
    rows = table.rows
    base = rows[rows.get("experiment") == table.base].iloc[0]
    texts = [title_cells(rows)]
    for setting, (label, form) in SETTINGS.items():
        if setting in rows:
            is_varied = (rows[setting] != base[setting]) | (rows.experiment == table.base)
            cells = format_numbers(rows[setting], form)
            texts.append(cells.where(is_varied, "").rename(label))
    texts += [our_cells(rows, metric) for metric in table.metrics]
    texts.append(our_cells(rows, "parameters_millions"))
    texts.append(format_numbers(rows.runs, "{:.0f}").rename("seeds"))
    return pd.concat(texts, axis="columns")


def difference_cells(table: ResultTable) -> pd.DataFrame:
    """Return each number beside the published one, and both as differences to the base's."""
    rows = table.rows
    texts = [title_cells(rows)]
    for column in (*table.metrics, "parameters_millions"):
        signed = FORMATS[column].replace(":", ":+")
        texts.append(our_cells(rows, column))
        ours = format_numbers(rows[f"{column}_to_base"], signed)
        if column in table.metrics:
            ours = ours.mask(rows[f"{column}_may_be_chance"], "(" + ours + ")")
        texts.append(ours.rename("Δ base"))
        if rows[f"{column}_published"].notna().any():
            texts.append(published_cells(table, column))
            differences = format_numbers(rows[f"{column}_published_to_base"], signed)
            texts.append(differences.rename("Δ base, published"))
    return pd.concat(texts, axis="columns")


def cost_cells(table: ResultTable) -> pd.DataFrame:
    """Return the part of the table on costs, as text, without rows that have none."""
    rows = table.rows
    cells = number_cells(table, list(COST_COLUMNS.values()))
    if rows.flops_device_time.notna().any():
        estimate = format_numbers(rows.flops_device_time, FORMATS["flops_6nd"])
        cells["training FLOPs (device time × rate)"] = estimate
    # Most papers print no cost of the systems that are only cited.
    has_cost = (cells.drop(columns="system") != "").any(axis="columns")
    return cells[has_cost]


def speed_cells(table: ResultTable) -> pd.DataFrame:
    """Return the part of the table on time and devices, as text, of the rows that were run."""
    rows = table.rows[table.rows.runs > 0]
    percent = 100 * rows.utilization
    processes = (rows.processes + " × ").where(rows.processes != "1", "")
    columns = [
        title_cells(rows),
        format_numbers(rows.target_tokens / 1e6, "{:.3g}").rename("tokens (millions)"),
        format_numbers(rows.device_hours, "{:.3g}").rename("device-hours"),
        format_numbers(rows.minutes, "{:.1f}").rename("minutes (a seed)"),
        format_numbers(rows.flops_per_second, "{:.1e}").rename("FLOP/s"),
        format_numbers(percent, "{:.1f}").rename("utilization (%)"),
        (processes + rows.device + ", threads: " + rows.threads).rename("device"),
    ]
    return pd.concat(columns, axis="columns")


def seed_cells(table: ResultTable) -> pd.DataFrame:
    """Return the scores of each seed beside their mean and deviation, of rows with several."""
    rows = table.rows[table.rows.runs > 1]
    texts = [title_cells(rows)]
    for metric in table.metrics:
        texts.append(our_cells(rows, metric))
        prefix = f"{metric}_seed_"
        for column in [name for name in rows if name.startswith(prefix)]:
            scores = format_numbers(rows[column], FORMATS[metric])
            texts.append(scores.rename(f"seed {column.removeprefix(prefix)}"))
    return pd.concat(texts, axis="columns")


def number_cells(table: ResultTable, columns: list[str]) -> pd.DataFrame:
    """Return the titles and, for each column of the table's rows, one to four columns of text.

    These are our numbers; the interval beside the first metric that has one; published numbers and
    differences to them, where there are any.
    """
    rows = table.rows
    texts = [title_cells(rows)]
    with_interval = [column for column in columns if f"{column}_interval" in rows]
    for column in columns:
        texts.append(our_cells(rows, column))
        if column in with_interval[:1]:
            interval = format_numbers(rows[f"{column}_interval"], "± {:.2f}")
            texts.append(interval.rename("interval (95%)"))
        if rows[f"{column}_published"].notna().any():
            texts.append(published_cells(table, column))
        if column != "flops_6nd" and rows[f"{column}_difference"].notna().any():
            signed = FORMATS[column].replace(":", ":+")
            difference = format_numbers(rows[f"{column}_difference"], signed)
            texts.append(difference.rename("difference"))
    return pd.concat(texts, axis="columns")


def our_cells(rows: pd.DataFrame, column: str) -> pd.Series:
    """Return our numbers as text, with their spread; the best ones bold where rows compete."""
    texts = format_numbers(rows[column], FORMATS[column])
    if column in METRICS:
        missing = (rows.kind == "run") & rows[column].isna()
        texts = texts.mask(missing & (rows.state == "not run"), "not run")
        texts = texts.mask(missing & (rows.state != "not run"), "not scored")
        texts = texts + format_numbers(rows[f"{column}_sd"], " ± " + FORMATS[column])
        texts = texts + rows.apply(divergence, axis="columns")
    may_be_best = f"{column}_may_be_best"
    if may_be_best in rows and (rows.kind == "run").sum() > 1:
        texts = texts.where(~rows[may_be_best].eq(True), "**" + texts + "**")
    return texts.rename(LABELS[column])


def divergence(row: pd.Series) -> str:
    """Return what a score's cell says of trainings that have diverged."""
    if not row.diverged > 0:  # NaN in rows that are published only
        return ""
    if row.diverged == row.runs:
        return " (diverged)"
    return f" ({row.diverged:.0f} of {row.runs:.0f} diverged)"


def published_cells(table: ResultTable, column: str) -> pd.Series:
    """Return the published numbers as text, with references to their sources."""
    numbers = format_numbers(table.rows[f"{column}_published"], PUBLISHED_FORMATS[column])
    references = [
        f" [{table.sources.index(source) + 1}]" if source in table.sources else ""
        for source in table.rows[f"{column}_source"]
    ]
    return (numbers + references).rename("published")


def format_numbers(values: pd.Series, form: str) -> pd.Series:
    """Return numbers as text, empty where there is none, with typographic minus signs.

    Those from a million on have an exponent.
    """
    texts = []
    for value in values:
        if pd.isna(value):
            texts.append("")
            continue
        number_form = form.replace(".2f", ".1e") if abs(value) >= 1e6 else form
        texts.append(number_form.format(value).replace("-", "−").replace("e+", "e"))
    return pd.Series(texts, index=values.index, dtype=str)
