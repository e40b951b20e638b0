"""A table as a data frame: cited systems first, then our rows beside what their papers print; and
its notes.
"""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from nmt.configuration import METRICS, Catalog, Published, Reproduction, lookup
from nmt.errors import UserError
from nmt.evaluation.significance import LEVEL
from nmt.paper.results import Run, find_runs, results

COSTS = {"parameters": "parameters_millions", "flops": "flops_6nd"}

MEANINGS = {
    "bleu": (
        "BLEU of sacreBLEU on plain text with its own 13a tokens (Post 2018), comparable across"
        " papers."
    ),
    "lowercased_bleu": "BLEU of sacreBLEU (13a) without case.",
    "chrf": (
        "F-score of character n-grams, recall counting twice (chrF2, Popović 2016), in percent."
    ),
    "ter": (
        "edits needed for each reference word (Snover et al. 2006), in percent; lower is better."
    ),
    "tokenized_bleu": (
        "BLEU on Moses tokens, cased (multi-bleu.perl), as Vaswani et al. 2017 for English-French."
    ),
    "compound_split_bleu": (
        "BLEU on Moses tokens, compounds split, as Vaswani et al. 2017 for English-German."
    ),
    "quotes_mapped_bleu": (
        "BLEU on Moses tokens, cased, with German quotation marks as plain ones on both sides."
    ),
    "quotes_mapped_compound_split_bleu": (
        "BLEU on Moses tokens with quotation marks so and compounds split, as some "
        "published scores for English-German."
    ),
    "lowercased_tokenized_bleu": (
        "BLEU on lower-cased, normalized Moses tokens, as most Multi30k papers print it."
    ),
    "perplexity": (
        "exp of the mean negative log-likelihood of a subword, end of sentence counted, without"
        " smoothing; comparable only between rows with the same vocabulary; lower is better."
    ),
}


@dataclass(frozen=True)
class Printed:
    """rows: a line each, in order (see `printed` for the columns); notes: what a reader has to
    know, a sentence each.

    sources: what the published numbers come from, each once; a cell refers to number i + 1.
    """

    title: str
    metrics: list[str]
    rows: pd.DataFrame
    notes: list[str]
    sources: list[str]


def printed(
    name: str, reproduction: Reproduction, catalog: Catalog, runs: Path, significance: dict
) -> Printed:
    """The reproduction's table `name`, from the folders of its runs and what compare.py wrote of
    them.

    Each measure (the table's metrics, parameters_millions and flops_6nd) has columns: its own name
    for the mean over seeds, _sd for the sample standard deviation (empty with one seed), _published
    and _source for what a paper prints and where, _difference for ours minus the published. There
    is no difference of FLOPs: papers count them otherwise. Metrics that were compared have
    _interval, _p_bootstrap, _p_randomization and _may_be_best too, as in Comparison.

    Raises UserError for an unknown table, for what `find_runs` finds, and for scores of different
    signatures.
    """
    table = lookup(reproduction.tables, name, "table")
    corpus = catalog.corpus(reproduction.corpus)
    found = find_runs(runs, reproduction, catalog, table.experiments)
    measured = results(found, table.split, table.metrics, catalog)
    signatures = {metric: signature(measured, metric) for metric in table.metrics}

    entries = [entry for entry in catalog.published if entry.corpus == reproduction.corpus]
    scores = [
        entry for entry in entries if entry.split == table.split and entry.metric in table.metrics
    ]
    costs = [entry for entry in entries if entry.metric in COSTS]
    systems = dict.fromkeys(entry.system for entry in scores if entry.system)
    rows = []
    for system in systems:
        cited = [entry for entry in [*scores, *costs] if entry.system == system]
        rows.append(
            {"kind": "published only", "title": system} | measures(table.metrics, None, cited)
        )
    for experiment in table.experiments:
        ours = measured[measured.experiment == experiment]
        own = [entry for entry in [*scores, *costs] if entry.experiment == experiment]
        rows.append(
            {"kind": "run", "experiment": experiment, "title": catalog.rows[experiment].title}
            | measures(table.metrics, ours, own)
            | cost(ours)
            | chances(experiment, significance)
        )
    about = {"corpus": reproduction.corpus, "corpus_title": corpus.title, "split": table.split}
    about |= {f"{metric}_signature": text for metric, text in signatures.items()}
    frame = pd.DataFrame(rows).assign(**about)
    sources = list(
        dict.fromkeys(
            row[key] for row in rows for key in row if key.endswith("_source") and row[key]
        )
    )
    lines = notes(frame, measured, signatures, [run for run in found if run.members])
    lines += chance_notes(significance, several=len(table.experiments) > 1)
    return Printed(table.title, table.metrics, frame, lines, sources)


def signature(measured: pd.DataFrame, metric: str) -> str:
    """How all runs got the metric; scores got in different ways must not share a column.

    Perplexity's only tells over how many subwords it is a mean, which depends on the vocabulary.
    """
    found = joined(measured[f"{metric}_signature"])
    if measured[f"{metric}_signature"].nunique() > 1 and metric != "perplexity":
        raise UserError(
            f"{metric} was measured in different ways ({found}): score all runs again with one"
            " version."
        )
    return found


def measures(metrics: list[str], ours: pd.DataFrame | None, published: list[Published]) -> dict:
    """The columns of all measures; `ours` holds the row's runs, None for a system that is only
    cited.
    """
    cells: dict = {}
    for metric, column in {**{metric: metric for metric in metrics}, **COSTS}.items():
        entry = next((entry for entry in published if entry.metric == metric), None)
        value = None if ours is None else ours[column].mean()
        cells[column] = value
        cells[f"{column}_sd"] = None if ours is None or len(ours) < 2 else ours[column].std()
        cells[f"{column}_published"] = entry and entry.value
        cells[f"{column}_source"] = entry and entry.source
        if metric != "flops":
            cells[f"{column}_difference"] = (
                None if value is None or entry is None else value - entry.value
            )
    return cells


def cost(ours: pd.DataFrame) -> dict:
    """What a row's runs took, by the mean over seeds, and on what."""
    return {
        "flops_sustained": ours.flops_sustained.mean(),
        "minutes_per_seed": ours.minutes.mean(),
        "device": joined(ours.device),
        "processes": joined(ours.processes),
        "threads": joined(ours.threads),
        "runs": len(ours),
        "seeds": joined(ours.seed),
        "commit": joined(ours.commit),
    }


def chances(row: str, significance: dict) -> dict:
    """The columns that say how far the row's scores may be chance."""
    return {
        f"{metric}_{key}": found["systems"][row][key]
        for metric, found in significance.items()
        for key in ("interval", "p_bootstrap", "p_randomization", "may_be_best")
    }


def chance_notes(significance: dict, several: bool) -> list[str]:
    if not significance:
        return []
    signatures = "; ".join(next(iter(significance.values()))["signatures"])
    lines = [
        "Interval (95%): of a run's score, ± half its width, by resampling sentences; of several"
        f" seeds, the widest ({signatures})."
    ]
    if several:
        lines.append(
            "Bold: the best row, and those that may be as good: a row is worse where paired"
            " bootstrap resampling and approximate randomization over the sentences both say p <"
            f" {LEVEL} divided by the number of the other rows, against the best and for every pair"
            " of their seeds."
        )
    return lines


def joined(values: pd.Series) -> str:
    """Each value once, in the order met; a value may be several already."""
    return ", ".join(dict.fromkeys(part for value in values for part in str(value).split(", ")))


def notes(
    frame: pd.DataFrame, measured: pd.DataFrame, signatures: dict[str, str], ensembles: list[Run]
) -> list[str]:
    single = measured[~measured.experiment.isin([run.experiment for run in ensembles])]
    seeds = list(dict.fromkeys(single.seed))
    spread = (
        "mean ± sample standard deviation over them"
        if len(seeds) > 1
        else "one run a row, so no spread is known"
    )
    sentences = (
        "" if measured.sentences.isna().all() else f" ({measured.sentences.max():.0f} sentences)"
    )
    about = frame.iloc[0]
    lines = [
        f"Corpus: {about.corpus_title}. Split: {about.split}{sentences}.",
        (
            f"Seeds: {', '.join(seeds) or 'see below'}; {spread}. Trained at commit"
            f" {joined(measured.commit)}."
        ),
        *(f"{METRICS[metric]}: {MEANINGS[metric]} ({text})" for metric, text in signatures.items()),
        (
            "Parameters: a tied matrix counts once. Training FLOPs: 6 N D plus the products of"
            " attention; N are the weights of matrices, the output projection among them but no"
            " embedding tables, D the tokens that meet them, without padding (Kaplan et al. 2020)."
            " Minutes: wall clock of one seed's training, validation included."
        ),
    ]
    titles = dict(zip(frame.get("experiment", []), frame.title, strict=False))
    lines += [
        f"{titles[run.experiment]}: {run.seeds} translate together, each step by the mean of their"
        " probabilities; parameters, FLOPs and minutes are sums over them."
        for run in ensembles
    ]
    if frame.flops_sustained.notna().any():
        lines.append(
            "Sustained FLOPs: training time times the device's sustained rate (Vaswani et al. 2017,"
            " section 6.1)."
        )
    if frame.filter(regex="_published$").notna().any(axis=None):
        lines.append(
            "Differences: ours minus published. Published FLOPs are as their papers count them, not"
            " as 6 N D."
        )
    return lines
