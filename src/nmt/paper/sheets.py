"""All tables of a reproduction by name, as text: its results, its data and its search."""

from collections.abc import Callable

import pandas as pd

from nmt.configuration import Catalog, Corpus, Reproduction
from nmt.errors import UserError
from nmt.files import read_json
from nmt.paper.cells import Sheet, format_numbers, result_sheet
from nmt.paper.complexity import complexity_sheet
from nmt.paper.results import RunFiles, corpus_folder, find_trained_runs
from nmt.paper.searches import search_points
from nmt.paper.tables import make_table


def make_sheet(
    name: str, reproduction: Reproduction, catalog: Catalog, files: RunFiles, significance: dict
) -> Sheet:
    """Return a table of results, or one of SHEETS.

    significance: what compare.py wrote of the table's rows; empty when they were not compared.
    """
    if name in SHEETS and name not in reproduction.tables:
        return SHEETS[name](reproduction, catalog, files)
    return result_sheet(make_table(name, reproduction, catalog, files, significance))


def corpora_sheet(reproduction: Reproduction, catalog: Catalog, files: RunFiles) -> Sheet:
    """Return what each vocabulary's tokens hold: pairs, those dropped by reason, and tokens.

    Raises UserError when no vocabulary of the reproduction has tokens.
    """
    corpus = catalog.corpus(reproduction.corpus)
    folder = corpus_folder(files, reproduction.corpus)
    rows = []
    experiments = [
        catalog.experiment(name)
        for row in reproduction.experiments
        for name, _ in catalog.trainings(row, [1])
    ]
    for vocabulary in dict.fromkeys(experiment.vocabulary for experiment in experiments):
        for split in corpus.split_names:
            path = folder / vocabulary / "tokens" / split / "meta.json"
            if path.exists():
                dropped = dropped_pairs(files, reproduction.corpus, corpus, split)
                row = {"vocabulary": vocabulary, "split": split}
                rows.append(row | corpus_columns(read_json(path), dropped))
    if not rows:
        raise UserError(f"{folder} has no tokens: let snakemake make them, or run binarize.py.")
    data = pd.DataFrame(rows).assign(corpus=reproduction.corpus)
    cells = data[["vocabulary", "split"]].copy()
    for name in data.columns.difference(["vocabulary", "split", "corpus"], sort=False):
        cells[name.replace("_", " ")] = format_numbers(data[name], "{:,.0f}")
    notes = [
        f"Corpus: {corpus.title}.",
        "Pairs: of sentences, as the corpus has them and as the vocabulary's models get them."
        " Dropped: from the training set alone, by the first reason that holds. Tokens: subwords,"
        " ends of sentences not counted; unknown: those that the vocabulary does not have.",
    ]
    return Sheet(f"Data of {reproduction.title}", [cells], data, notes)


def dropped_pairs(files: RunFiles, name: str, corpus: Corpus, split: str) -> dict[str, int]:
    """Return the pairs that the corpus's filters of raw text have dropped, by filter."""
    if split != "train" or not corpus.cleaning.filters:
        return {}
    return read_json(corpus_folder(files, name) / "raw" / "train.json", ["dropped"])["dropped"]


def corpus_columns(meta: dict, by_filters: dict[str, int]) -> dict:
    """Return the columns of one split, from the meta.json of its tokens.

    by_filters: pairs that were dropped before, by filter.
    """
    reasons = by_filters | meta["dropped"]
    dropped = {f"dropped_{reason}": count for reason, count in reasons.items()}
    columns = {"pairs": meta["sentences"] + sum(dropped.values()), "pairs_kept": meta["sentences"]}
    counts = ("source_tokens", "target_tokens", "source_unknown", "target_unknown")
    return columns | dropped | {name: meta[name] for name in counts}


def search_sheet(reproduction: Reproduction, catalog: Catalog, files: RunFiles) -> Sheet:
    """Return BLEU and length of the dev set by beam and by length penalty, as sweep.py measured.

    The rows are those of the first table.
    """
    table = next(iter(reproduction.tables.values()))
    runs = find_trained_runs(files, reproduction, catalog, table.experiments)
    single_runs = [run for run in runs if not run.members]
    data = search_points(single_runs)
    parts = []
    for setting in ("beam", "alpha"):
        points = data[data.setting == setting]
        for column, form in (("bleu", "{:.2f}"), ("length", "{:.3f}")):
            wide = points.pivot(index="experiment", columns="value", values=column)
            wide = wide.loc[list(dict.fromkeys(points.experiment))]
            titles = [catalog.rows[str(name)].title for name in wide.index]
            cells = pd.DataFrame({"system": titles}, index=wide.index)
            for value in wide:
                header = f"{setting} {value:g}, {'BLEU' if column == 'bleu' else 'length'}"
                cells[header] = format_numbers(wide[value], form)
            parts.append(cells.reset_index(drop=True))
    signatures = dict.fromkeys(run.read("dev.sweep.json")["signature"] for run in single_runs)
    notes = [
        f"Corpus: {catalog.corpus(reproduction.corpus).title}. Split: dev. Means over seeds.",
        "What is not varied is the row's own. Length: of the translations in words, as a share of"
        f" the references'. BLEU: {'; '.join(signatures)}.",
    ]
    return Sheet(f"Beam and length penalty, {reproduction.title}", parts, data, notes)


# The tables that every reproduction has, by the names of their files
SHEETS: dict[str, Callable[[Reproduction, Catalog, RunFiles], Sheet]] = {
    "complexity": lambda reproduction, catalog, files: complexity_sheet(),
    "corpora": corpora_sheet,
    "search": search_sheet,
}
