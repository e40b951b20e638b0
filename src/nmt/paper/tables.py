"""Tables as data frames, with notes: cited systems, then our rows beside published numbers."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from nmt.configuration import Catalog, Published, Reproduction, Table, lookup
from nmt.errors import UserError
from nmt.evaluation.metrics import METRICS
from nmt.paper.columns import (
    COST_COLUMNS,
    cost_columns,
    number_columns,
    planned_columns,
    read_plan,
    row_state,
    seed_columns,
    setting_columns,
    significance_columns,
)
from nmt.paper.measurements import run_results
from nmt.paper.notes import base_notes, join_distinct, significance_notes, table_notes
from nmt.paper.results import find_runs

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
    name: str, reproduction: Reproduction, catalog: Catalog, runs: Path, significance: dict
) -> ResultTable:
    """Return the reproduction's table `name`.

    runs: the folder of all runs.
    significance: what compare.py wrote of the table's rows; empty when they were not compared.

    Each number (the table's metrics, parameters_millions and flops_6nd) has columns: its own name
    for the mean over seeds, _scored for their number, _sd for the sample standard deviation (empty
    with one seed), _published and _source for what a paper prints and where, _difference for ours
    minus the published. There is no difference of FLOPs: papers count them otherwise. Metrics that
    were compared have _interval, _p_bootstrap, _p_randomization and _may_be_best too, as in
    Comparison. With several seeds the numbers of each are in _seed_1 and so on. A table with a base
    has the SETTINGS, and in _to_base and _published_to_base the differences to the base's numbers.
    Where the base has several seeds, _may_be_chance tells whether ours is inside the 95% interval
    that their standard deviation and Student's t give for the difference of two means over seeds.
    What is published of a row's counterpart has no difference to ours.

    Rows that were not run are empty; `state` says that, or that a row is stale or not complete.
    Where plan.py has been asked, planned_hours and planned_device say what would fill them.
    Raises UserError for an unknown table, for one without any run, and for scores of different
    signatures.
    """
    table = lookup(reproduction.tables, name, "table")
    corpus = catalog.corpus(reproduction.corpus)
    table_runs = find_runs(runs, reproduction, catalog, table.experiments)
    if not any(run.is_trained for run in table_runs):
        table_runs[0].trainings()  # raises the error that says what is missing
    results = run_results(table_runs, table.split, table.metrics)
    signatures = {metric: common_signature(results, metric) for metric in table.metrics}

    published = published_numbers(reproduction.corpus, table, catalog)
    published += counterpart_numbers(table, catalog)
    cited = cited_rows(table, published)
    ours = our_rows(table, results, published, catalog, significance)
    hours = read_plan(runs.parent / reproduction.name / "plan.csv")
    for row in ours:
        if row["state"] == "not run":
            trainings = catalog.trainings(
                row["experiment"], reproduction.seeds_for(row["experiment"])
            )
            row |= planned_columns([name for name, _ in trainings], catalog, hours)
    constants = {"corpus": reproduction.corpus, "corpus_title": corpus.title, "split": table.split}
    constants |= {f"{metric}_signature": text for metric, text in signatures.items()}
    rows = pd.DataFrame(cited + ours).assign(**constants)
    if table.base:
        rows = with_differences_to_base(rows, table)
    sources = [
        row[column]
        for row in cited + ours
        for column in row
        if column.endswith("_source") and row[column]
    ]
    ensembles = [run for run in table_runs if run.members]
    notes = table_notes(rows, results, signatures, ensembles)
    notes += base_notes(rows, table)
    notes += significance_notes(significance, several_rows=len(table.experiments) > 1)
    sources = list(dict.fromkeys(sources))
    return ResultTable(table.title, table.metrics, table.base, rows, notes, sources)


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
    costs = [entry for entry in entries if entry.metric in COST_COLUMNS]
    return scores + costs


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


def cited_rows(table: Table, published: list[Published]) -> list[dict]:
    """Return the rows of systems that are only cited: those with a score, in order."""
    metrics = published_metrics(table.metrics)
    scores = [entry for entry in published if entry.metric in metrics]
    rows = []
    for system in dict.fromkeys(entry.system for entry in scores if entry.system):
        entries = [entry for entry in published if entry.system == system]
        row = {"kind": "published only", "title": system}
        rows.append(row | number_columns(table.metrics, None, entries))
    return rows


def our_rows(
    table: Table,
    results: pd.DataFrame,
    published: list[Published],
    catalog: Catalog,
    significance: dict,
) -> list[dict]:
    """Return the rows of the table's experiments and ensembles, in order."""
    rows = []
    for name in table.experiments:
        row_results = results[results.experiment == name]
        entries = [entry for entry in published if entry.experiment == name]
        row: dict = {"kind": "run", "experiment": name, "title": catalog.rows[name].title}
        row["state"] = row_state(table.metrics, row_results)
        if table.base:
            row |= setting_columns(catalog.rows[name])
        row |= number_columns(table.metrics, row_results, entries)
        if name in table.counterparts:
            row |= dict.fromkeys((f"{metric}_difference" for metric in table.metrics), None)
        row |= seed_columns(table.metrics, row_results)
        row |= cost_columns(row_results)
        row |= significance_columns(name, significance)
        rows.append(row)
    return rows


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
        base_seeds = seeds[is_base].iloc[0]
        sd = rows[f"{metric}_sd"].astype(float)[is_base].iloc[0]
        if base_seeds > 1:
            quantile = STUDENT_T[min(int(base_seeds) - 2, len(STUDENT_T) - 1)]
            band = quantile * sd * (1 / base_seeds + 1 / seeds) ** 0.5
        else:
            band = float("nan")
        differences[f"{metric}_may_be_chance"] = differences[f"{metric}_to_base"].abs() <= band
    return rows.assign(**differences)
