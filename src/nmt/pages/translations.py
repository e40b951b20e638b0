"""The page of a table's translations, side by side, with their scores sentence by sentence."""

from dataclasses import dataclass

from sacrebleu.metrics import CHRF

from nmt.configuration import Catalog, Reproduction
from nmt.evaluation.scores import check_parallel
from nmt.files import read_lines
from nmt.pages.render import render
from nmt.paper.results import RunFiles, corpus_folder, find_runs


@dataclass(frozen=True)
class Texts:
    """The lines of a table's split, and what the first run of each row wrote for them."""

    sources: list[str]
    references: list[str]
    translations: dict[str, list[str]]


def read_texts(
    name: str, reproduction: Reproduction, catalog: Catalog, files: RunFiles
) -> Texts | None:
    """Return the texts of a table, or None where some are not there.

    Raises UserError for files that are not parallel.
    """
    table, corpus = reproduction.tables[name], catalog.corpus(reproduction.corpus)
    raw = corpus_folder(files, reproduction.corpus) / "raw"
    runs = find_runs(files, reproduction, catalog, table.experiments)
    first = {run.experiment: run for run in runs[::-1]}
    paths = [raw / f"{table.split}.{language}" for language in (corpus.source, corpus.target)]
    translated = f"{table.split}.translations.txt"
    paths += [files.folder / first[row].folder / translated for row in table.experiments]
    if not all(path.exists() for path in paths):
        return None
    lines = [list(read_lines(path)) for path in paths]
    check_parallel(list(zip(map(str, paths), lines, strict=True)))
    sources, references, *translations = lines
    return Texts(sources, references, dict(zip(table.experiments, translations, strict=True)))


def translations_page(name: str, reproduction: Reproduction, catalog: Catalog, texts: Texts) -> str:
    """Return the page of a table."""
    metric = CHRF()  # of a single sentence it says more than BLEU does
    systems = [
        {
            "title": catalog.rows[row].title,
            "translations": lines,
            "scores": [
                round(metric.sentence_score(line, [reference]).score, 1)
                for line, reference in zip(lines, texts.references, strict=True)
            ],
        }
        for row, lines in texts.translations.items()
    ]
    data = {"sources": texts.sources, "references": texts.references, "systems": systems}
    return render(
        "translations.html.j2",
        title=reproduction.tables[name].title,
        table=name,
        split=reproduction.tables[name].split,
        corpus=catalog.corpus(reproduction.corpus),
        sentences=len(texts.sources),
        data=data,
    )
