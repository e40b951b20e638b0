"""Tables of a reproduction beside those of its experiments: its data, and its search."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from nmt.configuration import Catalog, Corpus, Reproduction
from nmt.errors import UserError
from nmt.files import read_json
from nmt.paper.cells import Sheet, format_numbers
from nmt.paper.comparisons import search_points
from nmt.paper.drawing import Drawing


def corpora_sheet(reproduction: Reproduction, catalog: Catalog, runs: Path) -> Sheet:
    """Return what each vocabulary's tokens hold: pairs, those dropped by reason, and tokens.

    Raises UserError when no vocabulary of the reproduction has tokens.
    """
    corpus = catalog.corpus(reproduction.corpus)
    folder = runs.parent / "corpora" / reproduction.corpus
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
                row = {"vocabulary": vocabulary, "split": split}
                filtered = filtered_pairs(folder, corpus) if split == "train" else {}
                rows.append(row | corpus_columns(read_json(path), filtered))
    if not rows:
        raise UserError(f"{folder} has no tokens: let snakemake make them, or run binarize.py.")
    data = pd.DataFrame(rows).assign(corpus=reproduction.corpus)
    numbers = [name for name in data if name not in ("vocabulary", "split", "corpus")]
    cells = data[["vocabulary", "split"]].copy()
    for name in numbers:
        cells[name.replace("_", " ")] = format_numbers(data[name], "{:,.0f}")
    notes = [
        f"Corpus: {corpus.title}.",
        "Pairs: of sentences, as the corpus has them and as the vocabulary's models get them."
        " Dropped: from the training set alone, by the first reason that holds. Tokens: subwords,"
        " ends of sentences not counted; unknown: those that the vocabulary does not have.",
    ]
    return Sheet(f"Data of {reproduction.title}", [cells], data, notes)


def filtered_pairs(folder: Path, corpus: Corpus) -> dict[str, int]:
    """Return the pairs that the corpus's filters of raw text have dropped, by filter.

    folder: of the corpus, where extract.py counted them.
    """
    if not corpus.cleaning.filters:
        return {}
    return read_json(folder / "clean" / "train.json", ["dropped"])["dropped"]


def corpus_columns(meta: dict, by_filters: dict[str, int]) -> dict:
    """Return the columns of one split, from the meta.json of its tokens.

    by_filters: pairs that were dropped before, by filter.
    """
    reasons = by_filters | meta["dropped"]
    dropped = {f"dropped_{reason}": count for reason, count in reasons.items()}
    columns = {"pairs": meta["sentences"] + sum(dropped.values()), "pairs_kept": meta["sentences"]}
    columns |= dropped
    for name in ("source_tokens", "target_tokens", "source_unknown", "target_unknown"):
        columns[name] = meta[name]
    return columns


def search_sheet(reproduction: Reproduction, catalog: Catalog, runs: Path) -> Sheet:
    """Return BLEU and length of the dev set by beam and by length penalty, as sweep.py measured.

    The rows are those of the first table.
    """
    table = next(iter(reproduction.tables.values()))
    drawing = Drawing(reproduction, catalog, table, runs)
    data = search_points(drawing)
    parts = []
    for setting in ("beam", "alpha"):
        points = data[data.setting == setting]
        for column, form in (("bleu", "{:.2f}"), ("length", "{:.3f}")):
            wide = points.pivot(index="experiment", columns="value", values=column)
            wide = wide.loc[list(dict.fromkeys(points.experiment))]
            cells = pd.DataFrame({"system": [drawing.title(str(name)) for name in wide.index]})
            for value in wide:
                header = f"{setting} {value:g}, {'BLEU' if column == 'bleu' else 'length'}"
                numbers = wide[value].reset_index(drop=True)
                cells[header] = format_numbers(numbers, form)
            parts.append(cells)
    signatures = dict.fromkeys(run.sweep()["signature"] for run in drawing.single_runs)
    notes = [
        f"Corpus: {catalog.corpus(reproduction.corpus).title}. Split: dev. Means over seeds.",
        "What is not varied is the row's own. Length: of the translations in words, as a share of"
        f" the references'. BLEU: {'; '.join(signatures)}.{drawing.case_note()}",
    ]
    return Sheet(f"Beam and length penalty, {reproduction.title}", parts, data, notes)


def complexity_sheet(reproduction: Reproduction, catalog: Catalog, runs: Path) -> Sheet:
    """Return AIAYN's Table 1, which is the same in every reproduction."""
    from nmt.paper import complexity  # Torch takes seconds to import: other tables need none.

    return complexity.complexity_sheet()


def layers_sheet(reproduction: Reproduction, catalog: Catalog, runs: Path) -> Sheet:
    """Return what measure_layers.py has measured on this machine."""
    from nmt.paper import layer_costs

    return layer_costs.layers_sheet(runs.parent / reproduction.name)


# The tables, by the names of their files
SHEETS: dict[str, Callable[[Reproduction, Catalog, Path], Sheet]] = {
    "complexity": complexity_sheet,
    "layers": layers_sheet,
    "corpora": corpora_sheet,
    "search": search_sheet,
}
