"""The page of a whole reproduction, of runs that are made up."""

import re
from dataclasses import replace

import pytest

from nmt.configuration import Ensemble
from nmt.files import write_json, write_text
from nmt.pages.index import index_page
from nmt.paper.drawing import Drawing, draw, save
from nmt.paper.figures import file_name
from nmt.paper.results import RunFiles
from tests.support import paper_runs
from tests.support.browser import DESKTOP, PHONE, opened
from tests.support.paper_tables import publishing

DRAWN = ("learning-curves", "bleu-by-length", "attention")


@pytest.fixture(scope="module")
def made(tmp_path_factory, root):
    """A results folder with tables, figures and the page."""
    results = tmp_path_factory.mktemp("index")
    chosen = paper_runs.reproduction()
    catalog = publishing(paper_runs.make_runs(results, root, chosen))
    files = RunFiles(results / "runs")
    folder = results / chosen.name
    for name in ("systems", "complexity", "corpora"):
        write_text(folder / "tables" / f"{name}.csv", "")
    (folder / "figures").mkdir()
    for name in DRAWN:
        stem = folder / "figures" / file_name(name, "systems")
        picture = draw(name, Drawing(chosen, catalog, chosen.tables["systems"], files))
        save(picture, stem.with_name(f"{stem.name}.pdf"), stem.with_name(f"{stem.name}.png"))
    write_text(folder / "index.html", index_page(chosen, catalog, files, folder))
    return folder


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_number_leads_to_its_run(browser, made, width):
    with opened(browser, (made / "index.html").as_uri(), width) as page:
        target = page.locator("#results td a").first.get_attribute("href")
        page.locator("#results td a").first.click()
        assert page.url.endswith(target)
        text = page.locator(f"[id='{target[1:]}']").inner_text()
        assert all(fact in text for fact in ("abcdef0123", "f" * 64, "made-up CPU", "Seed 2"))


def test_sections_are_in_the_papers_order(made):
    page = (made / "index.html").read_text(encoding="utf-8")
    headings = re.findall("<h2[^>]*>(.*?)</h2>", page)
    assert headings == ["Model", "Training", "Results", "Attention", "On request", "Runs"]
    figures = re.findall('<figure id="figure-(.*?)"', page)
    assert figures == ["systems.learning-curves", "systems.bleu-by-length", "attention"]
    assert "100% made up" in page
    assert re.search(r'Training loss.*?Rows: <a href="#table-systems">', page, re.DOTALL)


def test_every_row_of_ours_has_links_and_cited_ones_have_none(made):
    page = (made / "index.html").read_text(encoding="utf-8")
    anchors = set(re.findall(r'id="(row-[^"]+)"', page))
    assert set(re.findall(r'<a href="#(row-[^"]+)">', page)) == anchors
    assert "<td>Their_system (published only)</td>" in page
    assert "<td></td>" in page  # an empty cell leads nowhere


def test_an_ensemble_is_a_row_beside_its_members(tmp_path, root):
    chosen = paper_runs.reproduction((1,))
    catalog = paper_runs.make_runs(tmp_path, root, chosen)
    ensemble = Ensemble(title="Both", members={"demo-transformer": (1,), "demo-rnnsearch": (1,)})
    catalog = replace(catalog, ensembles={"both": ensemble})
    systems = chosen.tables["systems"].model_copy(update={"experiments": ["both"]})
    chosen = chosen.model_copy(update={"tables": {"systems": systems}})
    write_text(tmp_path / "made-up" / "tables" / "systems.csv", "")
    page = index_page(chosen, catalog, RunFiles(tmp_path / "runs"), tmp_path / "made-up")
    assert "Ensemble of demo-transformer 1, demo-rnnsearch 1" in page
    anchors = re.findall(r'id="row-([^"]+)"', page)
    assert anchors == ["both", "demo-transformer", "demo-rnnsearch"]


def test_every_address_of_a_file_is_right(made):
    page = (made / "index.html").read_text(encoding="utf-8")
    addresses = re.findall(r'href="(\.\./[^"]+)"', page)
    assert len(addresses) > 5
    assert [name for name in addresses if not (made / name).exists()] == []


def test_publish_writes_the_page(made, root, run_script):
    chosen = paper_runs.reproduction().model_dump(exclude={"mirror"})
    write_json(made.parent / "reproduction.json", chosen)
    process = run_script(
        "publish",
        *("--reproduction", made.parent / "reproduction.json", "--runs", made.parent / "runs"),
        *("--output", made / "again.html"),
    )
    assert process.returncode == 0, process.stderr
    assert "100% made up" in (made / "again.html").read_text(encoding="utf-8")
