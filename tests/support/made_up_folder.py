"""A results folder with a table and figures, of runs that are made up."""

from pathlib import Path

import matplotlib.pyplot as plt

from nmt.configuration import Catalog
from nmt.files import write_text
from nmt.paper.cells import result_sheet
from nmt.paper.markup import csv, html, latex, markdown
from nmt.paper.tables import make_table
from tests.support import paper_runs

FIGURES = ("systems.learning-curves", "systems.bleu-by-length", "attention")


def make_folder(results: Path, root: Path) -> tuple[Path, Catalog]:
    """Write RESULTS/runs and RESULTS/made-up; return the latter, and the catalog."""
    chosen = paper_runs.reproduction()
    catalog = paper_runs.make_runs(results, root, chosen)
    folder = results / chosen.name
    table = result_sheet(make_table("systems", chosen, catalog, results / "runs", {}))
    forms = {
        "csv": csv(table),
        "html": html(table),
        "md": markdown(table),
        "tex": latex(table, f"{chosen.name}-systems"),
    }
    for suffix, text in forms.items():
        write_text(folder / "tables" / f"systems.{suffix}", text)
    (folder / "figures").mkdir()
    for name in FIGURES:
        figure, axes = plt.subplots(figsize=(12, 4))
        axes.plot([1, 2])
        for suffix in ("png", "pdf"):
            figure.savefig(folder / "figures" / f"{name}.{suffix}")
        plt.close(figure)
    write_text(results / "reproduction.json", chosen.model_dump_json(exclude={"mirror"}))
    return folder, catalog
