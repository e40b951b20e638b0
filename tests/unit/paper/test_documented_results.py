"""Tables of docs/results are those of docs/results/data, and docs/results.md has their numbers."""

import re
from pathlib import Path

import pytest

from nmt.configuration import read_reproduction
from nmt.files import read_json
from nmt.paper.markup import markdown
from nmt.paper.results import RunFiles, find_runs
from nmt.paper.sheets import make_sheet
from tests.support.files import ROOT

RESULTS = ROOT / "docs" / "results"
FILES = RunFiles(RESULTS / "data")
PRINTED = sorted((RESULTS / "tables").glob("*.md"))


@pytest.mark.parametrize("path", PRINTED, ids=lambda path: path.stem)
def test_printed_tables_are_those_of_the_runs(path):
    reproduction_name, table = path.stem.split(".")
    reproduction, catalog = read_reproduction(
        ROOT / "config" / f"{reproduction_name}.yaml", ROOT / "config"
    )
    significance = RESULTS / "data" / "significance" / f"{path.stem}.json"
    compared = read_json(significance) if significance.exists() else {}
    made = markdown(make_sheet(table, reproduction, catalog, FILES, compared))
    assert path.read_text(encoding="utf-8") == made, "run sh docs/results/redraw.sh"


@pytest.mark.parametrize("name", sorted({path.stem.split(".")[0] for path in PRINTED}))
def test_kept_runs_have_the_settings_of_their_rows(name):
    reproduction, catalog = read_reproduction(ROOT / "config" / f"{name}.yaml", ROOT / "config")
    runs = find_runs(FILES, reproduction, catalog, reproduction.experiments)
    trained = [run for row in runs if row.is_trained for run in row.trained_runs]
    assert trained
    for run in trained:
        experiment = catalog.experiment(Path(run.trained_in).parent.name)
        for section in ("model", "training"):
            settings = run.training()["settings"][section]
            configured = getattr(experiment, section).model_dump(mode="json")
            both = configured.keys() & settings.keys()
            assert [key for key in both if settings[key] != configured[key]] == [], run.folder


def test_documented_rows_are_as_printed():
    """Where a section leads to a printed table with a row's title and headers, numbers agree."""
    compared = 0
    for section in (ROOT / "docs" / "results.md").read_text(encoding="utf-8").split("\n#"):
        linked = [RESULTS / name for name in re.findall(r"\(results/(tables/.*?)\)", section)]
        printed = [row for path in linked for row in rows(path.read_text(encoding="utf-8"))]
        for row in rows(section):
            title, *headers = row
            same = [other for other in printed if other.get(title) == row[title]]
            whole = [header for header in headers if "." in row[header]]  # others are rounded
            shared = [[header for header in whole if header in other] for other in same]
            agree = [
                all(other[header] == row[header] for header in names)
                for names, other in zip(shared, same, strict=True)
                if names
            ]
            if agree and "seed" not in row:
                assert any(agree), row
                compared += 1
    assert compared > 20


def rows(text: str) -> list[dict[str, str]]:
    """Return the rows of all tables of a text in Markdown, by header, without bold."""
    found = []
    for block in text.split("\n\n"):
        lines = [line.strip("|").split("|") for line in block.splitlines() if line.startswith("|")]
        header, *cells = [[cell.strip(" *↓") for cell in line] for line in lines] or [[]]
        found += [dict(zip(header, row, strict=False)) for row in cells[1:]]
    return found
