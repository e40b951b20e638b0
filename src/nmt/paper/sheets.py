"""All tables of a reproduction by name: its results, its data, and AIAYN's Table 1."""

from collections.abc import Callable

import pandas as pd

from nmt.configuration import Catalog, Experiment, Reproduction, lookup
from nmt.errors import UserError
from nmt.files import read_json
from nmt.paper.cells import format_numbers, result_parts, sources
from nmt.paper.complexity import complexity_sheet
from nmt.paper.markup import Sheet
from nmt.paper.measurements import run_results
from nmt.paper.notes import table_notes
from nmt.paper.results import RunFiles, corpus_folder, find_runs, find_trained_runs
from nmt.paper.tables import table_rows


def make_sheet(
    name: str, reproduction: Reproduction, catalog: Catalog, files: RunFiles, significance: dict
) -> Sheet:
    """Return a table of results, or one of SHEETS.

    significance: what compare.py wrote of the table's rows; empty when they were not compared.
    Raises UserError for an unknown table, and for one without any run.
    """
    if name in SHEETS and name not in reproduction.tables:
        return SHEETS[name](reproduction, catalog, files)
    table = lookup(reproduction.tables, name, "table")
    find_trained_runs(files, reproduction, catalog, table.experiments)  # refuses an empty table
    runs = find_runs(files, reproduction, catalog, table.experiments)
    results = run_results(runs, table.split, table.metrics)
    rows = table_rows(table, reproduction.corpus, catalog, results, significance)
    notes = table_notes(table, rows, results, runs, significance)
    notes += [f"[{number}] {source}." for number, source in enumerate(sources(rows), start=1)]
    names = rows.experiment.dropna().to_dict()
    return Sheet(table.title, result_parts(rows, table), rows, notes, names)


def experiments_of(reproduction: Reproduction, catalog: Catalog) -> list[Experiment]:
    """Return the experiments that all rows rest on."""
    return [
        catalog.experiment(name)
        for row in reproduction.experiments
        for name, _ in catalog.trainings(row, [1])
    ]


def corpora_sheet(reproduction: Reproduction, catalog: Catalog, files: RunFiles) -> Sheet:
    """Return what each vocabulary's tokens hold: pairs, those dropped by reason, and tokens.

    Raises UserError when no vocabulary of the reproduction has tokens.
    """
    corpus = catalog.corpus(reproduction.corpus)
    folder = corpus_folder(files, reproduction.corpus)
    rows = []
    experiments = experiments_of(reproduction.by_default, catalog)
    vocabularies = [row.vocabulary for row in experiments]
    for vocabulary in dict.fromkeys(vocabularies):
        for split in corpus.split_names:
            path = folder / vocabulary / "tokens" / split / "meta.json"
            if not path.exists():
                continue
            meta = read_json(path)
            dropped = meta["dropped"]
            if split == "train" and corpus.filters_of(split):  # before tokens were made
                dropped = read_json(folder / "raw" / "train.json", ["dropped"])["dropped"] | dropped
            row = {"vocabulary": vocabulary, "split": split}
            row |= {"pairs": meta["sentences"] + sum(dropped.values())}
            row |= {"pairs_kept": meta["sentences"]}
            row |= {f"dropped_{reason}": count for reason, count in dropped.items()}
            rows.append(row | {name: meta[name] for name in COUNTS})
    if not rows:
        raise UserError(f"{folder} has no tokens: let snakemake make them, or run binarize.py.")
    data = pd.DataFrame(rows)
    numbers = data.drop(columns=["vocabulary", "split"])
    texts = numbers.apply(format_numbers, form="{:,.0f}")
    for side in ("source", "target"):
        shares = data[f"{side}_unknown"] / data[f"{side}_tokens"]
        texts[f"{side}_unknown"] = format_numbers(shares, "{:.3%}")
    texts = texts.rename(columns=lambda name: name.replace("_", " "))
    notes = [
        f"Corpus: {corpus.title}.",
        "Pairs: of sentences, as the corpus has them and as the vocabulary's models get them."
        " Dropped: from the training set alone, by the first reason that holds. Tokens: subwords,"
        " ends of sentences not counted; unknown: the share that the vocabulary does not have.",
    ]
    parts = [data[["vocabulary", "split"]].join(texts)]
    return Sheet(
        f"Data of {reproduction.title}", parts, data.assign(corpus=reproduction.corpus), notes
    )


# The counts of subwords in the meta.json of tokens
COUNTS = ("source_tokens", "target_tokens", "source_unknown", "target_unknown")
# The tables that every reproduction has, by the names of their files
SHEETS: dict[str, Callable[[Reproduction, Catalog, RunFiles], Sheet]] = {
    "corpora": corpora_sheet,
    "complexity": lambda reproduction, catalog, files: complexity_sheet(
        [experiment.model for experiment in experiments_of(reproduction, catalog)]
    ),
}
