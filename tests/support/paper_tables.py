"""Tables of made-up runs, and their printed forms."""

import re
from dataclasses import replace

from nmt.configuration import Catalog, Published
from nmt.files import read_json, write_json
from nmt.paper.markup import Sheet
from nmt.paper.results import RunFiles
from nmt.paper.sheets import make_sheet

PAPER = "Somebody et al. 2017, Table 2"
ANOTHER_PAPER = "Others & Co. 2018, 100% of it"
PUBLISHED = [
    {"split": "test", "metric": "bleu", "value": 30.0, "experiment": "demo-transformer"},
    {"split": "test", "metric": "bleu", "value": 29.5, "system": "Their_system"},
    {"split": "test", "metric": "chrf", "value": 1.0, "system": "Not a column"},
    {"split": "dev", "metric": "bleu", "value": 2.0, "system": "Another split"},
    {"metric": "flops", "value": 3.3e18, "experiment": "demo-transformer"},
    {"metric": "flops", "value": 2.3e19, "system": "Their_system"},
    {"metric": "parameters", "value": 65, "experiment": "demo-transformer"},
]


def publishing(catalog: Catalog) -> Catalog:
    """Return the catalog with PUBLISHED among its published numbers."""
    sources = [PAPER if "experiment" in entry else ANOTHER_PAPER for entry in PUBLISHED]
    pairs = zip(PUBLISHED, sources, strict=True)
    published = [Published(corpus="demo", source=source, **entry) for entry, source in pairs]
    return replace(catalog, published=[*catalog.published, *published])


def table(made, significance=None) -> Sheet:
    folder, reproduction, catalog = made
    files = RunFiles(folder / "runs")
    return make_sheet("systems", reproduction, catalog, files, significance or {})


def change(made, row: str, name: str, values: dict, seed: int = 1) -> None:
    """Change keys of a run's JSON file."""
    path = made[0] / "runs" / made[1].corpus / row / f"seed-{seed}" / name
    write_json(path, read_json(path) | values)


def part(text: str, number: int) -> list[list[str]]:
    """Return the cells of a part of a table in Markdown, header first."""
    blocks = re.findall(r"(?:^\|.*\n)+", text, flags=re.MULTILINE)
    lines = blocks[number].splitlines()
    del lines[1]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
