"""Tables as data frames, with notes: cited systems, then our rows beside published numbers."""

from dataclasses import dataclass

import pandas as pd

from nmt.configuration import (
    Catalog,
    Ensemble,
    Published,
    Reproduction,
    SelfAttention,
    Table,
    lookup,
)
from nmt.errors import UserError
from nmt.evaluation.metrics import COSTS, METRICS
from nmt.paper.measurements import run_results
from nmt.paper.notes import base_notes, join_distinct, significance_notes, table_notes
from nmt.paper.results import RunFiles, find_runs, find_trained_runs

# The columns of the published costs that tables show.
COST_COLUMNS = {name: cost.column for name, cost in COSTS.items() if cost.column}
# The columns of costs that are means over a row's runs, and those of where they ran
MEAN_COSTS = (
    *("flops_device_time", "target_tokens", "device_hours"),
    *("flops_per_second", "utilization", "minutes"),
)
ORIGINS = ("device", "processes", "threads", "seed", "commit")
# The 97.5% quantiles of Student's t distribution with 1, 2, ... degrees of freedom; the last one is
# taken for more.
STUDENT_T = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)


@dataclass(frozen=True)
class ResultTable:
    """A table of results, ready to be written in any form.

    metrics: those that have columns.
    base: the row whose settings the others vary, if they do.
    rows: one line for each row of the table, in order; see `make_table` for the columns.
    notes: what a reader has to know, one sentence or more each.
    sources: what the published numbers come from, each once; a cell refers to number i + 1.
    """

    title: str
    metrics: list[str]
    base: str | None
    rows: pd.DataFrame
    notes: list[str]
    sources: list[str]


def make_table(
    name: str, reproduction: Reproduction, catalog: Catalog, files: RunFiles, significance: dict
) -> ResultTable:
    """Return the reproduction's table `name`.

    significance: what compare.py wrote of the table's rows; empty when they were not compared.

    Each number (the table's metrics, parameters_millions and flops_6nd) has columns: its own name
    for the mean over seeds, _scored for their number, _sd for the sample standard deviation (empty
    with one seed), _published and _source for what a paper prints and where, _difference for ours
    minus the published. There is no difference of FLOPs: papers count them otherwise. Metrics that
    were compared have _interval, _p_bootstrap, _p_randomization and _may_be_best too, as in
    Comparison. With several seeds the numbers of each are in _seed_1 and so on. A table with a base
    has the settings of AIAYN's Table 3, and in _to_base and _published_to_base the differences to
    the base's numbers. Where the base has several seeds, _may_be_chance tells whether ours is
    inside the 95% interval that their standard deviation and Student's t give for the difference of
    two means over seeds. What is published of a row's counterpart has no difference to ours.

    Rows that were not run are empty; `state` says that, or that a row is stale or not complete.
    Raises UserError for an unknown table, for one without any run, and for scores of different
    signatures.
    """
    table = lookup(reproduction.tables, name, "table")
    find_trained_runs(files, reproduction, catalog, table.experiments)  # refuses an empty table
    runs = find_runs(files, reproduction, catalog, table.experiments)
    results = run_results(runs, table.split, table.metrics)
    signatures = {metric: common_signature(results, metric) for metric in table.metrics}

    published = published_numbers(reproduction.corpus, table, catalog)
    published += counterpart_numbers(table, catalog)
    rows = pd.DataFrame(table_rows(table, results, published, catalog, significance)).assign(
        corpus=reproduction.corpus,
        corpus_title=catalog.corpus(reproduction.corpus).title,
        split=table.split,
        **{f"{metric}_signature": text for metric, text in signatures.items()},
    )
    if table.base:
        rows = with_differences_to_base(rows, table)
    sources = rows.filter(regex="_source$").stack().dropna().drop_duplicates()
    ensembles = [run for run in runs if run.members]
    notes = table_notes(rows, results, signatures, ensembles)
    notes += base_notes(rows, table)
    notes += significance_notes(significance, several_rows=len(table.experiments) > 1)
    return ResultTable(table.title, table.metrics, table.base, rows, notes, list(sources))


def common_signature(results: pd.DataFrame, metric: str) -> str:
    """Return how all runs computed the metric.

    Raises UserError for scores computed in different ways, which must not share a column. The
    signature of perplexity only tells over how many subwords it is a mean, which depends on the
    vocabulary.
    """
    signatures = results.loc[results[metric].notna(), f"{metric}_signature"]
    text = join_distinct(signatures)
    if signatures.nunique() > 1 and metric != "perplexity":
        raise UserError(
            f"{metric} was measured in different ways ({text}): score all runs again with one"
            " version."
        )
    return text


def published_numbers(corpus: str, table: Table, catalog: Catalog) -> list[Published]:
    """Return the published scores in the table's columns, then the published costs."""
    entries = [entry for entry in catalog.published if entry.corpus == corpus]
    scores = [
        entry
        for entry in entries
        if entry.split == table.split and entry.metric in published_metrics(table.metrics)
    ]
    return scores + [entry for entry in entries if entry.metric in COST_COLUMNS]


def counterpart_numbers(table: Table, catalog: Catalog) -> list[Published]:
    """Return the published scores of the rows' counterparts, as if they were the rows' own.

    A paper's perplexity stands beside perplexity, its BLEU beside the first BLEU of the table,
    however that is tokenized.
    """
    columns = {METRICS[metric].scorer: metric for metric in reversed(table.metrics)}
    numbers = []
    for row, counterpart in table.counterparts.items():
        for entry in catalog.published:
            if entry.experiment == counterpart and entry.split == table.split:
                column = columns.get(METRICS[entry.metric].scorer)
                if column:
                    numbers.append(entry.model_copy(update={"experiment": row, "metric": column}))
    return numbers


def published_metrics(metrics: list[str]) -> list[str]:
    """Return the metrics under which numbers are published that belong into these columns."""
    return [METRICS[metric].published_as or metric for metric in metrics]


def table_rows(
    table: Table,
    results: pd.DataFrame,
    published: list[Published],
    catalog: Catalog,
    significance: dict,
) -> list[dict]:
    """Return the rows of systems that are only cited with a score, then ours, both in order."""
    metrics = published_metrics(table.metrics)
    cited = [entry.system for entry in published if entry.system and entry.metric in metrics]
    rows = []
    for system in dict.fromkeys(cited):
        entries = [entry for entry in published if entry.system == system]
        row: dict = {"kind": "published only", "title": system}
        rows.append(row | number_columns(table.metrics, results[:0], entries))
    for name in table.experiments:
        own = results[results.experiment == name]
        trained = own[own.is_trained]
        entries = [entry for entry in published if entry.experiment == name]
        row = {"kind": "run", "experiment": name, "title": catalog.rows[name].title}
        row["state"] = row_state(table.metrics, own)
        if table.base:
            row |= setting_columns(name, catalog)
        row |= number_columns(table.metrics, own, entries)
        if name in table.counterparts:
            row |= dict.fromkeys((f"{metric}_difference" for metric in table.metrics), None)
        if len(own) > 1:
            for metric in table.metrics:
                seeds = zip(own.seed, own[metric], strict=True)
                row |= {f"{metric}_seed_{seed}": score for seed, score in seeds}
        row |= {column: trained[column].mean() for column in MEAN_COSTS}
        row |= {column: join_distinct(trained[column]) for column in ORIGINS}
        row |= {"runs": len(trained), "diverged": int(trained.diverged.sum())}
        rows.append(row | significance_columns(name, significance))
    return rows


def number_columns(
    metrics: list[str], results: pd.DataFrame, published: list[Published]
) -> dict[str, object]:
    """Return the columns of a row's scores, parameters and FLOPs, ours and published.

    results: the row's runs, none of a system that is only cited.
    """
    columns: dict[str, object] = {}
    for name, column in ({metric: metric for metric in metrics} | COST_COLUMNS).items():
        published_as = METRICS[name].published_as if name in METRICS else None
        entry = next((entry for entry in published if entry.metric in (name, published_as)), None)
        scores = results[column]
        columns[column] = scores.mean()
        columns[f"{column}_scored"] = int(scores.count())
        columns[f"{column}_sd"] = scores.std()
        columns[f"{column}_published"] = entry.value if entry else None
        columns[f"{column}_source"] = entry.source if entry else None
        if name != "flops":
            columns[f"{column}_difference"] = scores.mean() - entry.value if entry else None
    return columns


def row_state(metrics: list[str], results: pd.DataFrame) -> str:
    """Return whether a row is stale or not complete, and "" when it is as configured."""
    trained = int(results.is_trained.sum())
    if not trained:
        return "not run"
    if results.stale.any():
        return f"stale: {join_distinct(results.stale[results.stale != ''])}"
    scored = int(results[metrics].notna().all(axis="columns").sum())
    if 0 < scored < trained:
        return f"{scored} of {len(results)} seeds scored"
    return "" if trained == len(results) else f"{trained} of {len(results)} seeds run"


def setting_columns(row: str, catalog: Catalog) -> dict:
    """Return the settings in which the rows of AIAYN's Table 3 differ, where a row has them."""
    if isinstance(catalog.rows[row], Ensemble):
        return {}
    experiment = catalog.experiment(row)
    training = experiment.training
    columns = {"label_smoothing": training.label_smoothing, "updates": training.updates}
    model = experiment.model
    if isinstance(model, SelfAttention):
        columns |= {key: getattr(model, key) for key in ("layers", "d_model", "d_ff", "heads")}
        columns |= {"d_k": model.key_width, "d_v": model.value_width, "dropout": model.dropout}
    return columns


def significance_columns(row: str, significance: dict) -> dict:
    """Return the columns that say how far the row's scores may be chance."""
    return {
        f"{metric}_{key}": comparisons["systems"][row][key]
        for metric, comparisons in significance.items()
        if row in comparisons["systems"]
        for key in ("interval", "p_bootstrap", "p_randomization", "may_be_best")
    }


def with_differences_to_base(rows: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Return the rows with the differences to the base's numbers, ours and published."""
    is_base = rows.experiment == table.base
    differences = {}
    for column in (*table.metrics, "parameters_millions"):
        for suffix in ("", "_published"):
            numbers = rows[f"{column}{suffix}"].astype(float)
            difference = numbers - numbers[is_base].iloc[0]
            is_variation = (rows.kind == "run") & ~is_base
            differences[f"{column}{suffix}_to_base"] = difference.where(is_variation)
    for metric in table.metrics:
        seeds = rows[f"{metric}_scored"].where(rows[f"{metric}_scored"] > 0)
        base_seeds = int(rows[f"{metric}_scored"][is_base].iloc[0])
        sd = rows[f"{metric}_sd"].astype(float)[is_base].iloc[0]  # NaN with a single seed
        quantile = STUDENT_T[min(max(base_seeds - 2, 0), len(STUDENT_T) - 1)]
        band = quantile * sd * (1 / max(base_seeds, 1) + 1 / seeds) ** 0.5
        differences[f"{metric}_may_be_chance"] = differences[f"{metric}_to_base"].abs() <= band
    return rows.assign(**differences)
