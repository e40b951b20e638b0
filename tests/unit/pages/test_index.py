"""The page of a whole reproduction, of runs that are made up."""

import re
import shutil

import pytest
from matplotlib.figure import Figure

from nmt.configuration import Table
from nmt.errors import UserError
from nmt.files import write_text
from nmt.pages.index import anchors, distinct_figures, index_page
from nmt.pages.render import is_wide
from nmt.pages.runs import Row, anchor
from nmt.pages.tables import linked_table
from nmt.paper.drawing import COLUMN, PAGE, STYLE
from tests.support import paper_runs
from tests.support.browser import DESKTOP, PHONE, opened
from tests.support.made_up_folder import make_folder


@pytest.fixture(scope="module")
def made(tmp_path_factory, root):
    """A results folder with a table, figures and the page."""
    folder, catalog = make_folder(tmp_path_factory.mktemp("index"), root)
    captions = root / "workflow" / "report"
    chosen = paper_runs.reproduction()
    page = index_page(chosen, catalog, folder, folder.parent / "runs", captions)
    write_text(folder / "index.html", page)
    return folder


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_number_leads_to_its_run(browser, made, width):
    with opened(browser, (made / "index.html").as_uri(), width) as page:
        links = page.locator("#results td a")
        assert links.count() > 10
        target = links.first.get_attribute("href")
        links.first.focus()
        page.keyboard.press("Enter")
        assert page.url.endswith(target)
        place = page.locator(f"[id='{target[1:]}']")
        text = place.inner_text()
        for fact in ("abcdef0123 (clean tree)", "f" * 64, "made-up CPU", "Seed 1", "Seed 2"):
            assert fact in text
        place.get_by_text("Configuration and command").first.click()
        assert '"d_hidden"' in place.inner_text()


def test_rows_of_one_title_in_two_tables_have_links_of_their_own(root):
    tables = {
        name: Table(title=name, experiments=[experiment], split="test", metrics=["bleu"])
        for name, experiment in (("systems", "one"), ("deep", "two"))
    }
    reproduction = paper_runs.reproduction((1,), "demo", **tables)
    rows = [Row(name, "Transformer", anchor(name), [], []) for name in ("one", "two")]
    assert anchors("systems", reproduction, rows) == {"Transformer": "row-one"}
    assert anchors("deep", reproduction, rows) == {"Transformer": "row-two"}


def test_sections_are_in_the_papers_order(made):
    page = (made / "index.html").read_text(encoding="utf-8")
    headings = re.findall("<h2[^>]*>(.*?)</h2>", page)
    assert headings == ["Training", "Results", "Attention", "On request", "Runs"]
    figures = re.findall('<figure id="figure-(.*?)"', page)
    assert figures == ["systems.learning-curves", "systems.bleu-by-length", "attention"]
    assert "100% made up" in page
    assert "<strong>Learning curves</strong>" in page
    assert re.search(r'Learning curves.*?Rows: <a href="#table-systems">', page, re.DOTALL)


@pytest.mark.parametrize(
    ("seeds_of", "says_so"), [({}, False), ({"demo-transformer": [1, 2]}, True)]
)
def test_a_page_says_that_means_are_shown(tmp_path, root, seeds_of, says_so):
    chosen = paper_runs.reproduction((1,)).model_copy(update={"seeds_of": seeds_of})
    folder, catalog = make_folder(tmp_path, root)
    page = index_page(chosen, catalog, folder, folder.parent / "runs", root / "workflow/report")
    assert ("Rows with several seeds show the mean over them." in page) == says_so


def test_tables_of_the_same_rows_share_a_figure(tmp_path):
    chosen = paper_runs.reproduction()
    tables = {"systems": chosen.tables["systems"], "dev": chosen.tables["systems"]}
    chosen = chosen.model_copy(update={"tables": tables})
    data = {
        "systems.learning-curves": "loss",
        "dev.learning-curves": "loss",
        "systems.bleu-by-length": "BLEU of the test set",
        "dev.bleu-by-length": "BLEU of the dev set",
        "attention": "weights",
    }
    for name, numbers in data.items():
        write_text(tmp_path / "figures" / f"{name}.csv", numbers)
        write_text(tmp_path / "figures" / f"{name}.png", "")
    figures = distinct_figures(tmp_path, chosen, "png")
    shown = {path.stem: [table["name"] for table in tables] for path, tables in figures.items()}
    assert shown == {
        "systems.learning-curves": ["systems", "dev"],
        "systems.bleu-by-length": ["systems"],
        "dev.bleu-by-length": ["dev"],
        "attention": [],
    }


def test_every_address_of_a_file_is_right(made):
    page = (made / "index.html").read_text(encoding="utf-8")
    addresses = re.findall(r'href="(\.\./[^"]+)"', page)
    assert len(addresses) > 5
    assert [name for name in addresses if not (made / name).exists()] == []


def test_a_row_that_is_only_cited_has_no_link(tmp_path):
    path = tmp_path / "table.html"
    path.write_text(
        "<body><table><tr><th>system</th></tr><tr><td>A &amp; B</td><td>1</td></tr>"
        "<tr><td>C</td><td>2</td></tr></table></body>"
    )
    content = linked_table(path, {"A & B": "row-ab"})
    assert '<a href="#row-ab">1</a>' in content
    assert "<td>2</td>" in content


def test_a_damaged_table_is_an_error(tmp_path):
    (tmp_path / "table.html").write_text("<table>")
    with pytest.raises(UserError, match="is no HTML page"):
        linked_table(tmp_path / "table.html", {})


def test_publish_writes_the_same_page(tmp_path, made, root, run_script):
    results = tmp_path / "results"
    shutil.copytree(made.parent, results)
    page = results / made.name / "index.html"
    page.unlink()
    process = run_script(
        "publish",
        *("--reproduction", results / "reproduction.json", "--runs", results / "runs"),
        *("--output", page),
    )
    assert process.returncode == 0, process.stderr
    assert page.read_bytes() == (made / "index.html").read_bytes()


@pytest.mark.parametrize(("inches", "wide"), [(COLUMN, False), (PAGE, True)])
def test_figures_of_two_columns_are_wide(tmp_path, inches, wide):
    Figure(figsize=(inches, 1)).savefig(tmp_path / "figure.png", dpi=STYLE["savefig.dpi"])
    assert is_wide(tmp_path / "figure.png") == wide
