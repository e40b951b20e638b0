"""The page with all of a reproduction, in the order of AIAYN."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from nmt.configuration import Catalog, Reproduction
from nmt.pages.captions import caption
from nmt.pages.render import picture, render
from nmt.pages.runs import described_rows
from nmt.pages.tables import linked_table

# Figures by AIAYN's sections; those of no section stand beside the tables.
MODEL = ("positional-encodings",)
TRAINING = ("learning-rate", "learning-curves")
ATTENTION = ("encoder-self-attention", "decoder-self-attention", "attention", "alignment")


@dataclass(frozen=True)
class Section:
    """A heading, a sentence, and items in order."""

    anchor: str
    title: str
    text: str
    tables: list[dict]
    figures: list[dict]


def index_page(
    reproduction: Reproduction, catalog: Catalog, folder: Path, runs: Path, captions: Path
) -> str:
    """Return the page of what is in a reproduction's folder.

    captions: the folder of the figures' captions.
    """
    rows = described_rows(runs, reproduction, catalog, folder)
    anchors = {row.title: row.anchor for row in rows}
    tables = [
        {
            "name": path.stem,
            "title": reproduction.tables[path.stem].title,
            "content": linked_table(path, anchors),
            "translations": (folder / f"translations-{path.stem}.html").exists(),
        }
        for path in tables_in_order(folder, reproduction)
    ]
    figures = {
        path.stem: {
            "name": path.stem,
            "image": picture(path),
            "caption": caption(captions / f"{kind_of(path.stem)}.rst", reproduction),
            "alt": alternative(captions / f"{kind_of(path.stem)}.rst", reproduction, path.stem),
            "forms": [kind for kind in ("pdf", "csv") if path.with_suffix(f".{kind}").exists()],
        }
        for path in sorted((folder / "figures").glob("*.png"))
    }
    corpus = catalog.corpus(reproduction.corpus)
    return render(
        "index.html.j2",
        reproduction=reproduction,
        corpus=corpus,
        sections=list(sections(tables, figures, reproduction)),
        rows=rows,
        explorer=(folder / "explorer.html").exists(),
    )


def tables_in_order(folder: Path, reproduction: Reproduction) -> list[Path]:
    """Return the tables that have been made, in the order of the configuration."""
    paths = [folder / "tables" / f"{name}.html" for name in reproduction.tables]
    return [path for path in paths if path.exists()]


def kind_of(figure: str) -> str:
    """Return what a figure shows: "learning-curves" of "systems.learning-curves"."""
    return figure.rpartition(".")[2]


def alternative(path: Path, reproduction: Reproduction, name: str) -> str:
    """Return a text for those who do not see the figure: its caption's first sentence."""
    text = Markup(caption(path, reproduction)).striptags()
    return text.partition(". ")[0] or name.replace("-", " ")


def sections(tables: list[dict], figures: dict, reproduction: Reproduction) -> Iterator[Section]:
    """Yield the sections that have something to show."""
    kinds: dict[str, list[str]] = {}
    for name in figures:
        kinds.setdefault(kind_of(name), []).append(name)
    others = [kind for kind in kinds if kind not in (*MODEL, *TRAINING, *ATTENTION)]
    seeds = len(reproduction.seeds)
    several = "" if seeds == 1 else f" Rows have {seeds} seeds, and the mean over them is shown."
    plan: list[tuple[str, str, str, list[dict], tuple[str, ...]]] = [
        (
            "model",
            "Model",
            "Position enters as in section 3.5 of the paper.",
            [],
            MODEL,
        ),
        (
            "training",
            "Training",
            "How the rows of each table were trained (section 5).",
            [],
            TRAINING,
        ),
        (
            "results",
            "Results",
            f"Every number leads to the run that it comes from.{several}",
            tables,
            tuple(others),
        ),
        (
            "attention",
            "Attention",
            "What the models look at while they write (as the paper's figures 3 to 5).",
            [],
            ATTENTION,
        ),
    ]
    for place, title, text, its_tables, its_kinds in plan:
        its_figures = [figures[name] for kind in its_kinds for name in kinds.get(kind, [])]
        if its_tables or its_figures:
            yield Section(place, title, text, its_tables, its_figures)
