"""The pages of a reproduction: one with all of it, its finding first, and those it leads to."""

import base64
import json
import os
from functools import partial
from pathlib import Path

import pandas as pd

from nmt.configuration import Catalog, Reproduction
from nmt.evaluation.metrics import METRICS
from nmt.files import read_json
from nmt.pages.finding import example, finding, ranked
from nmt.pages.render import explorer_page, render
from nmt.pages.translations import read_texts, translations_page
from nmt.paper.cells import COST, SETTINGS, cells, speed_cells
from nmt.paper.figures import FIGURES, file_name
from nmt.paper.markup import Sheet, html
from nmt.paper.measurements import run_results
from nmt.paper.results import Run, RunFiles, find_runs, provenance
from nmt.paper.sheets import SHEETS, make_sheet
from nmt.paper.tables import settings_of

# The columns of a figure's data that are drawn upward, one in each, and those that name lines
HEIGHTS = (*METRICS, "mean", "ours")
NAMES = ("experiment", "title", "metric")
MOST_DESCRIBED = 12  # lines of a figure


def pages(
    reproduction: Reproduction, catalog: Catalog, files: RunFiles, folder: Path
) -> dict[str, str]:
    """Return all pages by name, of what is in a reproduction's folder and in its runs.

    They have the tables that are made by default.
    """
    reproduction = reproduction.by_default
    texts = {
        name: read_texts(name, reproduction, catalog, files)
        for name, table in reproduction.tables.items()
        if table.compared
    }
    made = {
        f"translations-{name}.html": translations_page(name, reproduction, catalog, lines)
        for name, lines in texts.items()
        if lines
    }
    rows = described_rows(reproduction, catalog, files, folder)
    sheets = made_sheets(reproduction, catalog, files, folder)
    figures = shown_figures(reproduction, catalog, folder)
    first, table = next(iter(reproduction.tables.items()))
    runs = find_runs(files, reproduction, catalog, table.experiments)
    single = {run.experiment: run for run in runs[::-1] if run.is_trained and run.seed is not None}
    order = ranked(table, sheets[first].data) if first in sheets else pd.DataFrame()
    opening = {}
    best = None
    if len(order):
        names = list(order.experiment)
        best = next((single[name] for name in names if name in single), None)
        chosen = list(dict.fromkeys([*names[:2], names[-1]]))
        opening = {
            "finding": finding(table, order),
            "figure": figures.pop(file_name("cost", first), None),
            "example": (shown := texts.get(first)) and example(shown, chosen),
            "model": best and files.folder / best.folder / "model",
        }
    recorded = [single[row] for row in table.experiments if row in single]
    models = [run.read("attention.json") for run in recorded if run.has("attention.json")]
    if models:
        title = catalog.rows[best.experiment].title if best else ""
        made["explorer.html"] = explorer_page(reproduction.title, models, title)
    made["index.html"] = render(
        "index.html.j2",
        reproduction=reproduction,
        corpus=catalog.corpus(reproduction.corpus),
        titles={name: row.title for name, row in catalog.rows.items()},
        opening=opening,
        sheets=sheets,
        html=partial(html, linked=[row["name"] for row in rows]),
        figures=list(figures.values()),
        rows=rows,
        made=made,
    )
    return made


def made_sheets(
    reproduction: Reproduction, catalog: Catalog, files: RunFiles, folder: Path
) -> dict[str, Sheet]:
    """Return the tables in a reproduction's folder by name, that of layers if kinds differ."""
    sheets = {}
    for name in dict.fromkeys([*reproduction.tables, *SHEETS]):
        if (folder / "tables" / f"{name}.csv").exists():
            significance = folder / "tables" / f"{name}.significance.json"
            compared = read_json(significance) if significance.exists() else {}
            sheet = make_sheet(name, reproduction, catalog, files, compared)
            if name != "complexity" or not sheet.data.layer.str.startswith("Self-").all():
                sheets[name] = sheet
    return sheets


def shown_figures(reproduction: Reproduction, catalog: Catalog, folder: Path) -> dict[str, dict]:
    """Return the figures in a reproduction's folder by name, in the registry's order.

    Tables of the same rows have the same figures, but for the split: they come once.
    """
    shown: dict[tuple, dict] = {}
    titles = {name: catalog.rows[name].title for name in reproduction.experiments}
    for kind, figure in FIGURES.items():
        for name, table in reproduction.tables.items():
            png, csv = (
                folder / "figures" / f"{file_name(kind, name)}.{it}" for it in ("png", "csv")
            )
            key = (kind, *table.experiments) if figure.of_table else (kind,)
            data = pd.read_csv(csv) if png.exists() else pd.DataFrame()
            if data.empty or key in shown or "nothing_to_draw" in data:
                continue
            image = base64.b64encode(png.read_bytes()).decode()
            shown[key] = {
                "name": png.stem,
                "section": figure.section,
                "caption": figure.caption,
                "alt": f"{figure.alt}{seen(data, titles)}.",
                "image": f"data:image/png;base64,{image}",
                "table": {"name": name, "title": table.title} if figure.of_table else None,
            }
    return {figure["name"]: figure for figure in shown.values()}


def seen(data: pd.DataFrame, titles: dict[str, str]) -> str:
    """Return what a figure's data are: the first and last value of each line; "" without lines.

    titles: of rows, by their names.
    """
    height = next((name for name in HEIGHTS if name in data), None)
    if not height:
        return ""
    texts = []
    for keys, line in data.groupby([name for name in NAMES if name in data], sort=False):
        name = " ".join(dict.fromkeys(titles.get(str(key), str(key)) for key in keys))
        texts.append(
            f"{name} " + " to ".join(f"{x:.3g}" for x in line[height].iloc[[0, -1]].unique())
        )
    more = "; and so on" if len(texts) > MOST_DESCRIBED else ""
    return ": " + "; ".join(texts[:MOST_DESCRIBED]) + more


def described_rows(
    reproduction: Reproduction, catalog: Catalog, files: RunFiles, page: Path
) -> list[dict]:
    """Return the rows of all tables that have been trained, and what the page says of their runs.

    The members of an ensemble are rows too. page: the folder of the page, where addresses start.
    """
    runs = find_runs(files, reproduction, catalog, reproduction.experiments)
    trained = [run for run in runs if run.is_trained]
    members = [member for run in trained for member in run.members]
    rows: dict[str, dict[str, Run]] = {}
    for run in [*trained, *members]:
        rows.setdefault(run.experiment, {})[run.seeds] = run
    return [
        {
            "name": name,
            "title": catalog.rows[name].title,
            "runs": [
                described_run(run, numbers(run, reproduction, catalog), page)
                for run in row_runs.values()
            ],
        }
        for name, row_runs in rows.items()
    ]


def numbers(run: Run, reproduction: Reproduction, catalog: Catalog) -> dict[str, str]:
    """Return all numbers of a run that tables may have, as they are printed, by their headers."""
    parts = []
    for table in reproduction.tables.values():
        if run.experiment in table.experiments:
            results = run_results([run], table.split, table.metrics)
            scores = [cells(results, metric) for metric in table.metrics]
            parts += [score.rename(f"{score.name}, {table.split}") for score in scores]
    results = run_results([run], "", [])
    parts += [cells(results, column) for column in COST]
    if results.device.notna().all():  # translations from elsewhere were made we do not know how
        parts.append(speed_cells(results))
    settings = pd.DataFrame([settings_of(run.experiment, catalog)])
    parts += [cells(settings, column) for column in SETTINGS if column in settings]
    texts = pd.concat(parts, axis="columns").iloc[0]
    return {header: text for header, text in texts.items() if text}


def described_run(run: Run, facts: dict[str, str], page: Path) -> dict:
    """Return what a page says of a run: seed, numbers, origin, files, settings and command."""
    trained_in = run.files.folder / run.trained_in
    folder = run.files.folder / run.folder
    paths = [trained_in / "training.json", trained_in / "metrics.jsonl", folder / "model/README.md"]
    paths += sorted(folder.glob("*.translations.txt"))
    described = {
        "seeds": run.seeds,
        "facts": facts,
        "files": {
            path.name: Path(os.path.relpath(path, page)).as_posix()
            for path in paths
            if path.is_file()
        },
    }
    if run.seed is None:
        return described
    training = run.training()
    origin = {key: provenance([training], key) for key in ("torch", "commit")}
    origin["training data (sha256)"] = training["settings"]["tokens"]
    settings = json.dumps(training["settings"], indent=1, ensure_ascii=False)
    command = training["made_by"][0].get("command", "")
    return described | {"facts": facts | origin, "settings": settings, "command": command}
