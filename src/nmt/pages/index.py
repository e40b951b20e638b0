"""The page with all of a reproduction, in the order of AIAYN."""

import base64
import json
import os
from pathlib import Path

from markupsafe import Markup

from nmt.configuration import Catalog, Reproduction
from nmt.files import read_json
from nmt.pages.render import render
from nmt.paper.figures import FIGURES, file_name
from nmt.paper.markup import html_notes, html_tables
from nmt.paper.results import Run, RunFiles, find_runs, provenance
from nmt.paper.sheets import SHEETS, make_sheet

SECTIONS = {
    "Model": "What its layers cost (section 4), and how position enters (section 3.5).",
    "Training": "On what data, and how, the rows were trained (section 5).",
    "Results": "Every number leads to the runs that it comes from, with several seeds as a mean.",
    "Attention": "What the models look at while they write (as the paper's figures 3 to 5).",
}
# Tables that stand elsewhere than among the results
TABLE_SECTIONS = {"complexity": "Model", "corpora": "Training"}
# Pixels of a figure as wide as a page; one of a column has half of them.
WIDE = 750


def index_page(reproduction: Reproduction, catalog: Catalog, files: RunFiles, folder: Path) -> str:
    """Return the page of the tables and figures that are in a reproduction's folder."""
    rows = described_rows(reproduction, catalog, files, folder)
    names = dict.fromkeys([*reproduction.tables, *SHEETS])
    made = [name for name in names if (folder / "tables" / f"{name}.csv").exists()]
    anchors = {row["name"]: f"#row-{row['name']}" for row in rows}
    tables = []
    for name in made:
        significance = folder / "tables" / f"{name}.significance.json"
        compared = read_json(significance) if significance.exists() else {}
        sheet = make_sheet(name, reproduction, catalog, files, compared)
        tables.append(
            {
                "name": name,
                "title": sheet.title,
                "section": TABLE_SECTIONS.get(name, "Results"),
                "parts": list(map(Markup, html_tables(sheet, anchors))),
                "notes": Markup(html_notes(sheet)),
                "has_translations": (folder / f"translations-{name}.html").exists(),
            }
        )
    tables_on_request = {
        name: table.title for name, table in reproduction.tables.items() if table.on_request
    }
    on_request = tables_on_request | {"search": "BLEU by beam and length penalty, dev set"}
    return render(
        "index.html.j2",
        reproduction=reproduction,
        corpus=catalog.corpus(reproduction.corpus),
        sections=SECTIONS,
        tables=tables,
        figures=shown_figures(reproduction, folder),
        on_request={name: title for name, title in on_request.items() if name not in made},
        rows=rows,
        has_explorer=(folder / "explorer.html").exists(),
    )


def shown_figures(reproduction: Reproduction, folder: Path) -> list[dict]:
    """Return the figures in a reproduction's folder, in the registry's order.

    Tables of the same rows have the same figures of training: such a figure comes once.
    """
    shown: dict[tuple, dict] = {}
    for kind, figure in FIGURES.items():
        for name, table in reproduction.tables.items():
            stem = file_name(kind, name)
            path = folder / "figures" / f"{stem}.png"
            if not path.exists():
                continue
            split = table.split if "scores.json" in figure.needs else ""
            key = (kind, *table.experiments, split) if figure.scope == "table" else (kind,)
            content = path.read_bytes()
            values = {
                "name": stem,
                "section": figure.section,
                "caption": figure.caption,
                "alt": figure.alt,
                "image": f"data:image/png;base64,{base64.b64encode(content).decode()}",
                "is_wide": int.from_bytes(content[16:20], "big") > WIDE,  # the header of a PNG
                "tables": {},
            }
            item = shown.setdefault(key, values)
            if figure.scope == "table":
                item["tables"][name] = table.title
    return list(shown.values())


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
            "runs": [described_run(run, page) for run in row_runs.values()],
        }
        for name, row_runs in rows.items()
    ]


def described_run(run: Run, page: Path) -> dict:
    """Return what a page says of a run: seed, origin, cost, files, settings and command."""
    trained_in = run.files.folder / run.trained_in
    folder = run.files.folder / run.folder
    paths = [trained_in / "training.json", trained_in / "metrics.jsonl", folder / "model/README.md"]
    paths += sorted(folder.glob("*.translations.txt"))
    described = {
        "seeds": run.seeds,
        "facts": {},
        "files": {
            path.name: Path(os.path.relpath(path, page)).as_posix()
            for path in paths
            if path.is_file()
        },
    }
    if run.members:
        return described
    training = run.training()
    calls = [f"{call['processes']} × {call['threads']}" for call in training["made_by"]]
    facts = {
        "commit": provenance([training], "commit"),
        "training data (sha256)": training["settings"]["tokens"],
        "updates": f"{training['updates']:,}",
        "parameters": f"{training['parameters']:,}",
        "target tokens": f"{training['target_tokens']:,}",
        "training FLOPs": f"{training['flops']:.1e}".replace("e+", "e"),
        "time": f"{training['seconds'] / 60:.1f} minutes",
        "device": provenance([training], "device"),
        "processes × threads": ", ".join(dict.fromkeys(calls)),
        "torch": provenance([training], "torch"),
    }
    settings = json.dumps(training["settings"], indent=1, ensure_ascii=False)
    command = training["made_by"][0].get("command", "")
    return described | {"facts": facts, "settings": settings, "command": command}
