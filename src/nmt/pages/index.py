"""The page with all of a reproduction, in the order of AIAYN."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from nmt.configuration import Catalog, Reproduction
from nmt.pages.captions import caption
from nmt.pages.render import is_wide, picture, render
from nmt.pages.runs import Row, described_rows
from nmt.pages.tables import linked_table

# Figures by AIAYN's sections; those of no section come last.
MODEL = ("layers", "positional-encodings")
TRAINING = ("subword-lengths", "learning-rate", "learning-curves", "gradient-norms", "speed")
ATTENTION = ("encoder-self-attention", "decoder-self-attention", "attention", "alignment")
ORDER = (*MODEL, *TRAINING, *ATTENTION)
MODEL_TABLES = ("complexity", "layers")
DATA_TABLES = ("corpora",)
# Tables, and figures beside them, that every reproduction has when they are asked for
ON_REQUEST = {
    "search": "BLEU by beam and length penalty, dev set",
    "layers": "Time and memory of layers on this machine",
}


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
    tables = [
        {
            "name": path.stem,
            "title": table_title(path),
            "content": linked_table(path, anchors(path.stem, reproduction, rows)),
            "translations": (folder / f"translations-{path.stem}.html").exists(),
        }
        for path in tables_in_order(folder, reproduction)
    ]
    figures = {
        path.stem: {
            "name": path.stem,
            "image": picture(path),
            "wide": is_wide(path),
            "tables": shown,
            "caption": caption(captions / f"{kind_of(path.stem)}.rst", reproduction),
            "alt": alternative(captions / f"{kind_of(path.stem)}.rst", reproduction, path.stem),
            "forms": [kind for kind in ("pdf", "csv") if path.with_suffix(f".{kind}").exists()],
        }
        for path, shown in distinct_figures(folder, reproduction, "png").items()
    }
    corpus = catalog.corpus(reproduction.corpus)
    made = {table["name"] for table in tables}
    return render(
        "index.html.j2",
        reproduction=reproduction,
        corpus=corpus,
        sections=list(sections(tables, figures, reproduction)),
        requested=[item for item in requested(reproduction) if item[0] not in made],
        rows=rows,
        explorer=(folder / "explorer.html").exists(),
    )


def anchors(table: str, reproduction: Reproduction, rows: list[Row]) -> dict[str, str]:
    """Return the place of each row of a table by its title, which is unique within the table."""
    named = reproduction.tables.get(table)
    return {row.title: row.anchor for row in rows if not named or row.name in named.experiments}


def requested(reproduction: Reproduction) -> list[tuple[str, str]]:
    """Return the tables that are made only when they are asked for: name and title."""
    own = [(name, table.title) for name, table in reproduction.tables.items() if table.on_request]
    return [*own, *ON_REQUEST.items()]


def tables_in_order(folder: Path, reproduction: Reproduction) -> list[Path]:
    """Return the tables that have been made: the configuration's in its order, then others."""
    paths = [folder / "tables" / f"{name}.html" for name in reproduction.tables]
    others = sorted((folder / "tables").glob("*.html"))
    return [path for path in dict.fromkeys(paths + others) if path.exists()]


def table_title(path: Path) -> str:
    """Return the heading of a table."""
    heading = re.search(r"<h1>(.*?)</h1>", path.read_text(encoding="utf-8"), re.DOTALL)
    return Markup(heading[1]).unescape() if heading else path.stem


def kind_of(figure: str) -> str:
    """Return what a figure shows: TABLE.KIND is the name of one that each table has."""
    return figure.rpartition(".")[2]


def table_of(figure: str, reproduction: Reproduction) -> dict | None:
    """Return name and title of the table whose rows a figure shows, if it is named after one."""
    name, _, _ = figure.rpartition(".")
    table = reproduction.tables.get(name)
    return {"name": name, "title": table.title} if table else None


def figures_in_order(folder: Path, reproduction: Reproduction, form: str) -> list[Path]:
    """Return the files of all figures in a form: table by table, then those of none."""
    tables = list(reproduction.tables)

    def place(path: Path) -> tuple[int, int, str]:
        table, _, kind = path.stem.rpartition(".")
        table_number = tables.index(table) if table in tables else len(tables)
        kind_number = ORDER.index(kind) if kind in ORDER else len(ORDER)
        return (table_number, kind_number, path.name)

    return sorted((folder / "figures").glob(f"*.{form}"), key=place)


def distinct_figures(folder: Path, reproduction: Reproduction, form: str) -> dict[Path, list[dict]]:
    """Return the files of figures in order, and the tables (name, title) whose rows each shows.

    Tables of the same rows have the same figures of training: such a figure comes once.
    """
    firsts: dict[tuple[str, bytes], Path] = {}
    tables: dict[Path, list[dict]] = {}
    for path in figures_in_order(folder, reproduction, form):
        data = path.with_suffix(".csv")
        content = (data if data.exists() else path).read_bytes()
        first = firsts.setdefault((kind_of(path.stem), content), path)
        table = table_of(path.stem, reproduction)
        tables.setdefault(first, []).extend([table] if table else [])
    return tables


def alternative(path: Path, reproduction: Reproduction, name: str) -> str:
    """Return a text for those who do not see the figure: its caption's first sentence."""
    text = Markup(caption(path, reproduction)).striptags()
    return text.partition(". ")[0] or name.replace("-", " ")


def sections(tables: list[dict], figures: dict, reproduction: Reproduction) -> Iterator[Section]:
    """Yield the sections that have something to show."""
    has_means = reproduction.has_several_seeds(reproduction.experiments)
    several = " Rows with several seeds show the mean over them." if has_means else ""
    model = [table for table in tables if table["name"] in MODEL_TABLES]
    data = [table for table in tables if table["name"] in DATA_TABLES]
    results = [table for table in tables if table not in (*model, *data)]
    plan: list[tuple[str, str, str, list[dict], tuple[str, ...]]] = [
        (
            "model",
            "Model",
            "What its layers cost (section 4), and how position enters (section 3.5).",
            model,
            MODEL,
        ),
        (
            "training",
            "Training",
            "On what data, and how, the rows were trained (section 5).",
            data,
            TRAINING,
        ),
        (
            "results",
            "Results",
            f"Every number leads to the run that it comes from.{several}",
            results,
            (),
        ),
        (
            "attention",
            "Attention",
            "What the models look at while they write (as the paper's figures 3 to 5).",
            [],
            ATTENTION,
        ),
    ]
    for place, title, text, its_tables, kinds in plan:
        its_figures = [
            figure
            for name, figure in figures.items()
            if (kind_of(name) in kinds if kinds else kind_of(name) not in ORDER)
        ]
        if its_tables or its_figures:
            yield Section(place, title, text, its_tables, its_figures)
