"""The page of a table's translations, side by side, with their scores sentence by sentence."""

from pathlib import Path

from sacrebleu.metrics import CHRF

from nmt.configuration import Catalog, Reproduction
from nmt.evaluation.scores import check_parallel
from nmt.files import read_lines
from nmt.pages.render import embedded, render


def translations_page(
    table: str,
    reproduction: Reproduction,
    catalog: Catalog,
    files: dict[str, Path],
    source: Path,
    reference: Path,
) -> str:
    """Return the page of a table.

    files: the translations of each row. Raises UserError for files that are not parallel.
    """
    lines = {path: list(read_lines(path)) for path in (source, reference, *files.values())}
    check_parallel([(str(path), text) for path, text in lines.items()])
    systems = [
        {
            "title": catalog.rows[row].title,
            "translations": lines[path],
            "scores": sentence_scores(lines[path], lines[reference]),
        }
        for row, path in files.items()
    ]
    data = {"sources": lines[source], "references": lines[reference], "systems": systems}
    return render(
        "translations.html.j2",
        title=reproduction.tables[table].title,
        table=table,
        split=reproduction.tables[table].split,
        corpus=catalog.corpus(reproduction.corpus),
        sentences=len(lines[source]),
        data=embedded(data),
    )


def sentence_scores(translations: list[str], references: list[str]) -> list[float]:
    """Return chrF2 of each sentence, which says more of a single one than BLEU does."""
    metric = CHRF()
    return [
        round(metric.sentence_score(translation, [reference]).score, 1)
        for translation, reference in zip(translations, references, strict=True)
    ]
