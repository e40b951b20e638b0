"""The notes under tables of results: all that a reader has to know beside the numbers."""

import pandas as pd

from nmt.configuration import Table
from nmt.evaluation.metrics import METRICS
from nmt.evaluation.significance import LEVEL
from nmt.paper.results import Run

# Marks the titles of rows that a note says are stale or incomplete.
MARK = "†"


def table_notes(
    rows: pd.DataFrame, results: pd.DataFrame, signatures: dict[str, str], ensembles: list[Run]
) -> list[str]:
    """Return the notes that every table has, and those on what only some tables show."""
    notes = [data_note(rows, results), seeds_note(results, ensembles), *state_notes(rows)]
    for name, signature in signatures.items():
        metric = METRICS[name]
        notes.append(f"{metric.label}: {metric.description} ({signature})")
        if metric.published_as and rows[f"{name}_published"].notna().any():
            label = METRICS[metric.published_as].label
            notes.append(
                f"Published numbers beside {metric.label} are those of {label}: the papers do not"
                " say how quotation marks were tokenized."
            )
    notes.append(
        "Parameters: a tied matrix counts once. Training FLOPs: 6 N D plus the products of"
        " attention; N are the weights of matrices, the output projection among them but no"
        " embedding tables, D the tokens that meet them, without padding (Kaplan et al. 2020)."
    )
    notes.append(
        "Tokens: target subwords of one seed's training, ends of sentences included. Device-hours"
        " and minutes of one seed's training, validation included; FLOP/s of a device; utilization:"
        " its share of the device's rate of large matrix products, blank where that was measured on"
        " a busy device."
    )
    titles = dict(zip(rows.get("experiment", []), rows.title, strict=False))
    for run in ensembles:
        notes.append(
            f"{titles[run.experiment]}: {run.seeds} translate together, each step by the mean of"
            " their probabilities; parameters, FLOPs and minutes are sums over them."
        )
    if rows.flops_device_time.notna().any():
        notes.append(
            "FLOPs (device time × rate): training time times devices times the rate of one, as"
            " Vaswani et al. 2017, section 6.1, with the rate given there or, of other devices,"
            " that of large matrix products as measured."
        )
    if results.diverged.any():
        notes.append(
            "Diverged: after the last update the dev perplexity was infinite, NaN or more than e"
            " times the number of subwords, which is worse than an untrained model's."
        )
    if rows.filter(regex="_difference$").notna().any(axis=None):
        notes.append("Differences: ours minus published.")
    if rows.flops_6nd_published.notna().any():
        notes.append("Published FLOPs are as their papers count them, not as 6 N D.")
    if "updates" in rows:
        notes.append(
            "Settings: N layers, h heads, P_drop dropout, eps_ls label smoothing; blank where they"
            " are those of the first row, as in Vaswani et al. 2017, Table 3. Δ base: the row's"
            " number minus that of the base."
        )
    return notes


def base_notes(rows: pd.DataFrame, table: Table) -> list[str]:
    """Return what the differences to the base and the numbers of counterparts mean."""
    notes = []
    if table.counterparts:
        notes.append(
            "Published: of the paper's experiment that the row repeats in small, on another corpus:"
            " its difference to the paper's base is to be compared, not the number itself."
        )
    if table.base and rows.filter(regex="_may_be_chance$").any(axis=None):
        notes.append(
            "Δ base in brackets: inside the 95% interval that the standard deviation of the base's"
            " seeds and Student's t give for the difference, so that it may be chance."
        )
    return notes


def state_notes(rows: pd.DataFrame) -> list[str]:
    """Return which rows are stale or incomplete."""
    return [
        f"{title} {MARK}: {state}."
        for title, state in zip(rows.title, rows.state.fillna(""), strict=True)
        if state not in ("", "not run")
    ]


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
    single_models = single_models[single_models.is_trained]
    seeds = list(dict.fromkeys(single_models.seed))
    spread = "one run a row, so no spread is known"
    if len(seeds) > 1:
        spread = "mean ± sample standard deviation over them"
        if single_models.groupby("experiment").seed.nunique().min() < len(seeds):
            spread += " where a row has several"
    commits = join_distinct(results.commit[results.is_trained])
    return f"Seeds: {', '.join(seeds) or 'see below'}; {spread}. Trained at commit {commits}."


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
            f" {LEVEL} divided by the number of the other rows compared, against the best and for"
            " every pair of their seeds."
        )
    return notes


def join_distinct(values: pd.Series) -> str:
    """Return the values with commas between them, each once, in order of appearance.

    A value may itself be several values with commas between them.
    """
    parts = [part for value in values for part in str(value).split(", ")]
    return ", ".join(dict.fromkeys(parts))
