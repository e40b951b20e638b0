"""The page of a table's translations, side by side, with their scores sentence by sentence."""

from dataclasses import dataclass
from pathlib import Path

from sacrebleu.metrics import CHRF

from nmt.configuration import Catalog, Reproduction, lookup
from nmt.evaluation.metrics import METRICS
from nmt.evaluation.scores import check_parallel, check_scorable
from nmt.files import read_lines
from nmt.pages.render import embedded, render
from nmt.pages.runs import anchor

DECIMALS = 1


@dataclass(frozen=True)
class System:
    """A row's translations: those of its first seed."""

    name: str
    title: str
    translations: list[str]


def read_system(name: str, path: Path, catalog: Catalog) -> System:
    """Return a row's translations."""
    return System(name, catalog.rows[name].title, list(read_lines(path)))


def translations_page(
    table: str,
    reproduction: Reproduction,
    catalog: Catalog,
    files: dict[str, Path],
    source: Path,
    reference: Path,
    significance: dict,
) -> str:
    """Return the page of a table.

    files: the translations of each row. significance: what compare.py wrote. Raises UserError for
    files that are not parallel.
    """
    sources = list(read_lines(source))
    references = list(read_lines(reference))
    check_parallel([(str(source), sources), (str(reference), references)])
    systems = [read_system(name, path, catalog) for name, path in files.items()]
    for system, path in zip(systems, files.values(), strict=True):
        check_scorable(system.translations, [references], [str(path), str(reference)])
    columns = [
        {
            "title": system.title,
            "translations": system.translations,
            "scores": sentence_scores(system.translations, references),
        }
        for system in systems
    ]
    corpus = catalog.corpus(reproduction.corpus)
    return render(
        "translations.html.j2",
        title=reproduction.tables[table].title,
        table=table,
        split=reproduction.tables[table].split,
        corpus=corpus,
        sentences=len(sources),
        several_seeds=reproduction.has_several_seeds(files),
        tests=list(tests(systems, significance)),
        data=embedded({"sources": sources, "references": references, "systems": columns}),
    )


def sentence_scores(translations: list[str], references: list[str]) -> list[float]:
    """Return chrF2 of each sentence, which says more of a single one than BLEU does."""
    metric = CHRF()
    return [
        round(metric.sentence_score(translation, [reference]).score, DECIMALS)
        for translation, reference in zip(translations, references, strict=True)
    ]


def tests(systems: list[System], significance: dict) -> list[dict]:
    """Return for each compared metric its label and a line for each system."""
    titles = {system.name: system.title for system in systems}
    compared = []
    for metric, comparison in significance.items():
        lines = [
            {
                "title": titles.get(name, name),
                "anchor": anchor(name),
                "score": f"{values['score']:.2f}",
                "interval": f"± {values['interval']:.2f}",
                "p_bootstrap": probability(values["p_bootstrap"]),
                "p_randomization": probability(values["p_randomization"]),
                "may_be_best": values["may_be_best"],
            }
            for name, values in comparison["systems"].items()
        ]
        label = lookup(METRICS, metric, "metric").label
        compared.append({"label": label, "lines": lines, "signatures": comparison["signatures"]})
    return compared


def probability(value: float | None) -> str:
    """Return p as text; the best system is compared with none."""
    if value is None:
        return "(best)"
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
