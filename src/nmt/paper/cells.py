"""The cells of a table of results as text, in parts that fit a page."""

import pandas as pd

from nmt.configuration import Table
from nmt.evaluation.metrics import METRICS
from nmt.paper.notes import MARK, has_note, metric_columns
from nmt.paper.tables import COST_COLUMNS

# By column of a table's rows: what its header says, and how numbers are printed
SCORES = {
    name: (f"{metric.label} ↓" if metric.lower_is_better else metric.label, "{:.2f}")
    for name, metric in METRICS.items()
}
COST = {
    "parameters_millions": ("parameters (millions)", "{:.2f}"),
    "flops_6nd": ("training FLOPs (6 N D + attention)", "{:.1e}"),
}
SPEED = {
    "tokens_millions": ("tokens (millions)", "{:.3g}"),
    "device_hours": ("device-hours", "{:.3g}"),
    "minutes": ("minutes (a seed)", "{:.1f}"),
    "flops_per_second": ("FLOP/s", "{:.1e}"),
    "utilization_percent": ("utilization (%)", "{:.1f}"),
}
# With the names of AIAYN's Table 3
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
COLUMNS = SCORES | COST | SPEED | SETTINGS | {"runs": ("seeds", "{:.0f}")}
# Papers' scores keep the digits that they have.
PUBLISHED = {"perplexity": "{:.2f}", "parameters_millions": "{:g}", "flops_6nd": "{:.1e}"}


def result_parts(rows: pd.DataFrame, table: Table) -> list[pd.DataFrame]:
    """Return the parts of a table: scores, costs, speed, and the seeds where several ran.

    A table with a base has its settings beside the scores, as AIAYN's Table 3, and then the
    differences to the base, ours and published.
    """
    metrics = list(dict.fromkeys(metric_columns(table, rows).values()))
    scores = [score_cells(rows, metrics)]
    if table.base:
        scores.insert(0, setting_cells(rows, table, metrics))
    else:
        scores[0]["seeds"] = cells(rows, "runs")
    parts = [*scores, cost_cells(rows), speed_cells(rows[rows.minutes.notna()])]
    several = rows[rows.trained_as.isin(rows.trained_as[rows.runs > 1])]
    if len(several):
        parts.append(seed_cells(several, metrics))
    return [pd.concat([title_cells(rows), part], axis="columns", join="inner") for part in parts]


def title_cells(rows: pd.DataFrame) -> pd.Series:
    """Return the titles of the rows: cited ones say so, those that a note explains have a mark."""
    titles = rows.title.where(rows.kind == "run", rows.title + " (published only)")
    return titles.where(~has_note(rows), titles + f" {MARK}").rename("system")


def setting_cells(rows: pd.DataFrame, table: Table, metrics: list[str]) -> pd.DataFrame:
    """Return settings and scores, as AIAYN's Table 3 has them: blank where they are the base's."""
    is_base = rows.experiment == table.base
    texts = []
    for setting in SETTINGS:
        if setting in rows:
            is_varied = is_base | (rows[setting] != rows[setting][is_base].iloc[0])
            texts.append(cells(rows, setting).where(is_varied, ""))
    texts += [our_cells(rows, column) for column in (*metrics, "parameters_millions")]
    return pd.concat([*texts, cells(rows, "runs")], axis="columns")


def score_cells(rows: pd.DataFrame, columns: list[str]) -> pd.DataFrame:
    """Return our numbers, and beside them what there is of what belongs to each.

    That is the interval of the first metric that has one, the published number, and the difference
    to it or, both of ours and of the published, to the base's.
    """
    texts = []
    with_interval = [column for column in columns if f"{column}_interval" in rows]
    for column in columns:
        texts.append(our_cells(rows, column))
        if column in with_interval[:1]:
            interval = format_numbers(rows[f"{column}_interval"], "± {:.2f}")
            texts.append(interval.rename("interval (95%)"))
        for name, header in (
            ("to_base", "Δ base"),
            ("published", "published"),
            ("published_to_base", "Δ base, published"),
            ("difference", "difference"),
        ):
            numbers = rows.get(f"{column}_{name}")
            if numbers is None or numbers.isna().all():
                continue
            if name == "published":
                text = format_numbers(numbers, PUBLISHED.get(column, "{}")) + references(
                    rows, column
                )
            else:
                text = format_numbers(numbers, COLUMNS[column][1].replace(":", ":+"))
            if name == "to_base" and f"{column}_may_be_chance" in rows:
                text = text.mask(rows[f"{column}_may_be_chance"], "(" + text + ")")
            texts.append(text.rename(header))
    return pd.concat(texts, axis="columns")


def cost_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the costs, without rows that have none, as most systems that are only cited."""
    texts = score_cells(rows, list(COST_COLUMNS.values()))
    return texts[(texts != "").any(axis="columns")]


def speed_cells(rows: pd.DataFrame) -> pd.DataFrame:
    """Return time and devices."""
    rows = rows.assign(
        tokens_millions=rows.target_tokens / 1e6, utilization_percent=100 * rows.utilization
    )
    texts = pd.concat([cells(rows, column) for column in SPEED], axis="columns")
    processes = (rows.processes + " × ").where(rows.processes != "1", "")
    return texts.assign(device=processes + rows.device + ", threads: " + rows.threads)


def seed_cells(rows: pd.DataFrame, metrics: list[str]) -> pd.DataFrame:
    """Return the scores of each seed beside their mean and deviation."""
    texts = []
    for metric in metrics:
        texts.append(our_cells(rows, metric))
        for column in rows.filter(regex=f"^{metric}_seed_"):
            scores = format_numbers(rows[column], COLUMNS[metric][1])
            texts.append(scores.rename(column.removeprefix(f"{metric}_").replace("_", " ")))
    return pd.concat(texts, axis="columns")


def our_cells(rows: pd.DataFrame, column: str) -> pd.Series:
    """Return our numbers as text, with their spread; the best ones bold where rows compete."""
    texts = cells(rows, column)
    if column in METRICS:
        missing = (rows.kind == "run") & rows[column].isna()
        texts = texts.mask(missing, "not scored").mask(
            missing & (rows.state == "not run"), "not run"
        )
        texts += format_numbers(rows[f"{column}_sd"], " ± " + COLUMNS[column][1])
        texts = texts.mask(rows.diverged > 0, texts + " (diverged)")
        if METRICS[column].counts_case:
            texts = texts.mask(rows.lowercased.eq(True), "")
    may_be_best = f"{column}_may_be_best"
    if may_be_best in rows and (rows.kind == "run").sum() > 1:
        texts = texts.mask(rows[may_be_best].eq(True), "**" + texts + "**")
    return texts


def sources(rows: pd.DataFrame) -> list[str]:
    """Return what the published numbers come from, each once; cells refer to number i + 1."""
    return list(rows.filter(regex="_source$").stack().dropna().drop_duplicates())


def references(rows: pd.DataFrame, column: str) -> pd.Series:
    """Return the numbers of the sources of a column's published numbers, in brackets."""
    numbers = {source: f" [{number}]" for number, source in enumerate(sources(rows), start=1)}
    return rows[f"{column}_source"].map(numbers).fillna("")


def cells(rows: pd.DataFrame, column: str) -> pd.Series:
    """Return one of COLUMNS as text."""
    label, form = COLUMNS[column]
    return format_numbers(rows[column], form).rename(label)


def format_numbers(values: pd.Series, form: str) -> pd.Series:
    """Return numbers as text, empty where there is none, with typographic minus signs.

    Those from a million on have an exponent.
    """

    def text(value: float) -> str:
        if pd.isna(value):
            return ""
        number_form = form.replace(".2f", ".1e") if abs(value) >= 1e6 else form
        return number_form.format(value).replace("-", "−").replace("e+", "e")

    return values.map(text).astype(str)
