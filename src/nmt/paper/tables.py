"""Tables as data frames, with notes: cited systems, then our rows beside published numbers."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from nmt.configuration import Catalog, Published, Reproduction, Table, lookup
from nmt.errors import UserError
from nmt.evaluation.metrics import COSTS, METRICS
from nmt.evaluation.significance import LEVEL
from nmt.paper.results import Run, find_runs, run_results

# The columns of the published costs that tables show.
COST_COLUMNS = {name: cost.column for name, cost in COSTS.items() if cost.column}


@dataclass(frozen=True)
class ResultTable:
    """A table of results, ready to be written in any form.

    metrics: those that have columns.
    rows: one line for each row of the table, in order; see `make_table` for the columns.
    notes: what a reader has to know, one sentence or more each.
    sources: what the published numbers come from, each once; a cell refers to number i + 1.
    """

    title: str
    metrics: list[str]
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
    for the mean over seeds, _sd for the sample standard deviation (empty with one seed), _published
    and _source for what a paper prints and where, _difference for ours minus the published. There
    is no difference of FLOPs: papers count them otherwise. Metrics that were compared have
    _interval, _p_bootstrap, _p_randomization and _may_be_best too, as in Comparison.

    Raises UserError for an unknown table, for runs that `find_runs` refuses, and for scores of
    different signatures.
    """
    table = lookup(reproduction.tables, name, "table")
    corpus = catalog.corpus(reproduction.corpus)
    table_runs = find_runs(runs, reproduction, catalog, table.experiments)
    results = run_results(table_runs, table.split, table.metrics, catalog)
    signatures = {metric: common_signature(results, metric) for metric in table.metrics}

    published = published_numbers(reproduction.corpus, table, catalog)
    cited = cited_rows(table, published)
    ours = our_rows(table, results, published, catalog, significance)
    constants = {"corpus": reproduction.corpus, "corpus_title": corpus.title, "split": table.split}
    constants |= {f"{metric}_signature": text for metric, text in signatures.items()}
    rows = pd.DataFrame(cited + ours).assign(**constants)
    sources = [
        row[column]
        for row in cited + ours
        for column in row
        if column.endswith("_source") and row[column]
    ]
    ensembles = [run for run in table_runs if run.members]
    notes = table_notes(rows, results, signatures, ensembles)
    notes += significance_notes(significance, several_rows=len(table.experiments) > 1)
    return ResultTable(table.title, table.metrics, rows, notes, list(dict.fromkeys(sources)))


def common_signature(results: pd.DataFrame, metric: str) -> str:
    """Return how all runs computed the metric.

    Raises UserError for scores computed in different ways, which must not share a column. The
    signature of perplexity only tells over how many subwords it is a mean, which depends on the
    vocabulary.
    """
    signatures = results[f"{metric}_signature"]
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
        entry for entry in entries if entry.split == table.split and entry.metric in table.metrics
    ]
    costs = [entry for entry in entries if entry.metric in COST_COLUMNS]
    return scores + costs


def cited_rows(table: Table, published: list[Published]) -> list[dict]:
    """Return the rows of systems that are only cited: those with a score, in order."""
    scores = [entry for entry in published if entry.metric in table.metrics]
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
        row = {"kind": "run", "experiment": name, "title": catalog.rows[name].title}
        row |= number_columns(table.metrics, row_results, entries)
        row |= cost_columns(row_results)
        row |= significance_columns(name, significance)
        rows.append(row)
    return rows


def number_columns(
    metrics: list[str], results: pd.DataFrame | None, published: list[Published]
) -> dict:
    """Return the columns of a row's scores, parameters and FLOPs, ours and published.

    `results` holds the row's runs, None for a system that is only cited.
    """
    columns: dict = {}
    column_by_name = {metric: metric for metric in metrics} | COST_COLUMNS
    for name, column in column_by_name.items():
        entry = next((entry for entry in published if entry.metric == name), None)
        scores = None if results is None else results[column]
        mean = None if scores is None else scores.mean()
        columns[column] = mean
        columns[f"{column}_sd"] = None if scores is None or len(scores) < 2 else scores.std()
        columns[f"{column}_published"] = None if entry is None else entry.value
        columns[f"{column}_source"] = None if entry is None else entry.source
        if name != "flops":
            difference = None if mean is None or entry is None else mean - entry.value
            columns[f"{column}_difference"] = difference
    return columns


def cost_columns(results: pd.DataFrame) -> dict:
    """Return what a row's runs took, as the mean over seeds, and on which devices."""
    return {
        "flops_sustained": results.flops_sustained.mean(),
        "minutes_per_seed": results.minutes.mean(),
        "device": join_distinct(results.device),
        "processes": join_distinct(results.processes),
        "threads": join_distinct(results.threads),
        "runs": len(results),
        "diverged": int(results.diverged.sum()),
        "seeds": join_distinct(results.seed),
        "commit": join_distinct(results.commit),
    }


def significance_columns(row: str, significance: dict) -> dict:
    """Return the columns that say how far the row's scores may be chance."""
    return {
        f"{metric}_{key}": comparisons["systems"][row][key]
        for metric, comparisons in significance.items()
        for key in ("interval", "p_bootstrap", "p_randomization", "may_be_best")
    }


def significance_notes(significance: dict, several_rows: bool) -> list[str]:
    """Return the notes on intervals and bold numbers; none when nothing was compared."""
    if not significance:
        return []
    first_metric = next(iter(significance))
    signatures = "; ".join(significance[first_metric]["signatures"])
    notes = [
        "Interval (95%): of a run's score, ± half its width, by resampling sentences; of several"
        f" seeds, the widest ({signatures})."
    ]
    if several_rows:
        notes.append(
            "Bold: the best row, and those that may be as good: a row is worse where paired"
            " bootstrap resampling and approximate randomization over the sentences both say p <"
            f" {LEVEL} divided by the number of the other rows, against the best and for every pair"
            " of their seeds."
        )
    return notes


def join_distinct(values: pd.Series) -> str:
    """Return the values with commas between them, each once, in order of appearance.

    A value may itself be several values with commas between them.
    """
    parts = [part for value in values for part in str(value).split(", ")]
    return ", ".join(dict.fromkeys(parts))


def table_notes(
    rows: pd.DataFrame, results: pd.DataFrame, signatures: dict[str, str], ensembles: list[Run]
) -> list[str]:
    """Return the notes that every table has, and those on what only some tables show."""
    notes = [data_note(rows, results), seeds_note(results, ensembles)]
    for name, signature in signatures.items():
        metric = METRICS[name]
        notes.append(f"{metric.label}: {metric.description} ({signature})")
    notes.append(
        "Parameters: a tied matrix counts once. Training FLOPs: 6 N D plus the products of"
        " attention; N are the weights of matrices, the output projection among them but no"
        " embedding tables, D the tokens that meet them, without padding (Kaplan et al. 2020)."
        " Minutes: wall clock of one seed's training, validation included."
    )
    titles = dict(zip(rows.get("experiment", []), rows.title, strict=False))
    for run in ensembles:
        notes.append(
            f"{titles[run.experiment]}: {run.seeds} translate together, each step by the mean of"
            " their probabilities; parameters, FLOPs and minutes are sums over them."
        )
    if rows.flops_sustained.notna().any():
        notes.append(
            "Sustained FLOPs: training time times the device's sustained rate (Vaswani et al. 2017,"
            " section 6.1)."
        )
    if results.diverged.any():
        notes.append(
            "Diverged: after the last update the dev perplexity was infinite, NaN or more than e"
            " times the number of subwords, which is worse than an untrained model's."
        )
    if rows.filter(regex="_published$").notna().any(axis=None):
        notes.append(
            "Differences: ours minus published. Published FLOPs are as their papers count them, not"
            " as 6 N D."
        )
    return notes


def data_note(rows: pd.DataFrame, results: pd.DataFrame) -> str:
    """Return the note on corpus and split."""
    first = rows.iloc[0]
    sentences = ""
    if results.sentences.notna().any():
        sentences = f" ({results.sentences.max():.0f} sentences)"
    return f"Corpus: {first.corpus_title}. Split: {first.split}{sentences}."


def seeds_note(results: pd.DataFrame, ensembles: list[Run]) -> str:
    """Return the note on seeds and commits."""
    ensemble_names = [run.experiment for run in ensembles]
    single_models = results[~results.experiment.isin(ensemble_names)]
    seeds = list(dict.fromkeys(single_models.seed))
    spread = "one run a row, so no spread is known"
    if len(seeds) > 1:
        spread = "mean ± sample standard deviation over them"
    commits = join_distinct(results.commit)
    return f"Seeds: {', '.join(seeds) or 'see below'}; {spread}. Trained at commit {commits}."
