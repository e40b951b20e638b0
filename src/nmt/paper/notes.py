"""The notes under tables of results: all that a reader has to know beside the numbers."""

import pandas as pd

from nmt.configuration import Table
from nmt.evaluation.metrics import METRICS
from nmt.evaluation.significance import LEVEL
from nmt.paper.results import Run

# Marks the titles of rows that a note says are incomplete, or of other seeds.
MARK = "†"


def table_notes(
    table: Table, rows: pd.DataFrame, results: pd.DataFrame, runs: list[Run], significance: dict
) -> list[str]:
    """Return the notes that every table has, and those on what only some tables show.

    rows: of the table; results: of its runs.
    """
    ensembles = [run for run in runs if run.seed is None]
    return [
        data_note(rows, results),
        seeds_note(results, ensembles),
        *(f"{row.title} {MARK}: {row.state}." for row in rows[has_note(rows)].itertuples()),
        *metric_notes(table, rows),
        *cost_notes(rows, results, ensembles),
        *comparison_notes(table, rows, significance),
    ]


def metric_notes(table: Table, rows: pd.DataFrame) -> list[str]:
    """Return how each metric was computed."""
    notes = []
    columns = metric_columns(table, rows)
    for name in table.metrics:
        metric = METRICS[name]
        signature = rows[f"{name}_signature"].iloc[0]
        notes.append(f"{metric.label}: {metric.description} ({signature})")
        if name not in columns:
            notes[-1] += " Left out: rows that learn lower-cased text write no capitals."
        elif columns[name] != name:
            notes[-1] += f" The numbers are those of {METRICS[columns[name]].label}."
        if metric.published_as and rows[f"{name}_published"].notna().any():
            label = METRICS[metric.published_as].label
            notes.append(
                f"Published numbers beside {metric.label} are those of {label}: the papers do not"
                " say how quotation marks were tokenized."
            )
    return notes


def metric_columns(table: Table, rows: pd.DataFrame) -> dict[str, str]:
    """Return in which metric's column each metric stands: its own, or one with equal numbers.

    Those that count case have none where all rows learn lower-cased text.
    """
    ours = rows[rows.kind == "run"]
    columns: dict[str, str] = {}
    first_of: dict[tuple, str] = {}
    for name in table.metrics:
        metric = METRICS[name]
        own = ours.filter(regex=f"^{name}(_sd|_may_be_best)?$")
        key = (metric.scorer, own.to_csv(header=False, index=False, float_format="%.2f"))
        if rows[f"{name}_published"].notna().any() or ours[name].isna().all():
            columns[name] = name
        elif not (metric.counts_case and ours.lowercased.all()):
            columns[name] = first_of.setdefault(key, name)
    return columns


def cost_notes(rows: pd.DataFrame, results: pd.DataFrame, ensembles: list[Run]) -> list[str]:
    """Return what the numbers of parameters, FLOPs and times count."""
    titles = dict(zip(rows.experiment, rows.title, strict=True))
    sharing = [
        f"{', '.join(group.title)}: one training, whose costs stand in each row."
        for _, group in rows.groupby("trained_as", sort=False)
        if len(group) > 1
    ]
    of_ensembles = [
        f"{titles[run.experiment]}: {run.seeds} translate together, each step by the mean of their"
        " probabilities; parameters, FLOPs and minutes are sums over them."
        if run.members
        else f"{titles[run.experiment]}: translations from elsewhere."
        for run in ensembles
    ]
    notes = [
        "Parameters: a tied matrix counts once. Training FLOPs: 6 N D plus the products of"
        " attention; N are the weights of matrices, the output projection among them but no"
        " embedding tables, D the tokens that meet them, without padding (Kaplan et al. 2020).",
        "Tokens: target subwords of one seed's training, ends of sentences included. Device-hours"
        " and minutes of one seed's training, validation included; FLOP/s of a device; utilization:"
        " its share of the device's rate of large matrix products, blank where that was measured on"
        " a busy device.",
        *sharing,
        *of_ensembles,
    ]
    if results.diverged.any():
        notes.append(
            "Diverged: after the last update the dev perplexity was infinite, NaN or more than e"
            " times the number of subwords, which is worse than an untrained model's."
        )
    return notes


def comparison_notes(table: Table, rows: pd.DataFrame, significance: dict) -> list[str]:
    """Return what our numbers are compared with, and which differences may be chance."""
    comparisons: dict = next(iter(significance.values()), {"signatures": []})
    notes_where = [
        (
            rows.filter(regex="_difference$").notna().any(axis=None),
            "Differences: ours minus published.",
        ),
        (
            rows.flops_6nd_published.notna().any(),
            "Published FLOPs are as their papers count them, not as 6 N D.",
        ),
        (
            table.base,
            "Settings: N layers, h heads, P_drop dropout, eps_ls label smoothing; blank where they"
            " are those of the first row, as in Vaswani et al. 2017, Table 3. Δ base: the row's"
            " number minus that of the base.",
        ),
        (
            table.counterparts,
            "Published: of the paper's experiment that the row repeats in small, on another corpus:"
            " its difference to the paper's base is to be compared, not the number itself.",
        ),
        (
            rows.filter(regex="_may_be_chance$").any(axis=None),
            "Δ base in brackets: inside the 95% interval that the standard deviation of the base's"
            " seeds and Student's t give for the difference, so that it may be chance.",
        ),
        (
            significance,
            "Interval (95%): of a run's score, ± half its width, by resampling sentences; of"
            f" several seeds, the widest ({'; '.join(comparisons['signatures'])}).",
        ),
        (
            significance and len(table.experiments) > 1,
            "Bold: the best row, and those that may be as good: a row is worse where paired"
            " bootstrap resampling and approximate randomization over the sentences both say p <"
            f" {LEVEL} divided by the number of the other rows compared, against the best and for"
            " every pair of their seeds.",
        ),
        (
            rows.filter(regex="^perplexity_may_be_best$").eq(True).any(axis=None),
            "Bold perplexity: the lowest of the rows with one vocabulary; not tested.",
        ),
    ]
    return [note for is_needed, note in notes_where if is_needed]


def has_note(rows: pd.DataFrame) -> pd.Series:
    """Return which rows are incomplete or of other seeds, and not only not run."""
    return ~rows.state.fillna("").isin(["", "not run"])


def data_note(rows: pd.DataFrame, results: pd.DataFrame) -> str:
    """Return the note on corpus and split."""
    first = rows.iloc[0]
    sentences = ""
    if results.sentences.notna().any():
        sentences = f" ({join_distinct(results.sentences.dropna().astype(int))} sentences)"
    return f"Corpus: {first.corpus_title}. Split: {first.split}{sentences}."


def seeds_note(results: pd.DataFrame, ensembles: list[Run]) -> str:
    """Return the note on seeds and commits."""
    trained = results[results.is_trained]
    single_models = trained[~trained.experiment.isin([run.experiment for run in ensembles])]
    seeds = single_models.seed.unique()
    spread = "one run a row, so no spread is known"
    if len(seeds) > 1:
        spread = "mean ± sample standard deviation over them"
        if single_models.groupby("experiment").seed.nunique().min() < len(seeds):
            spread += " where a row has several"
    commits = join_distinct(trained.commit)
    return f"Seeds: {', '.join(seeds) or 'see below'}; {spread}. Trained at commit {commits}."


def join_distinct(values: pd.Series) -> str:
    """Return the values with commas between them, each once, in order of appearance.

    A value may itself be several values with commas between them.
    """
    parts = [part for value in values.dropna() for part in str(value).split(", ")]
    return ", ".join(dict.fromkeys(parts))
