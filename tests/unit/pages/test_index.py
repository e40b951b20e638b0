"""The page of a whole reproduction, of runs that are made up."""

import io
import json
import re
from dataclasses import replace

import pandas as pd
import pytest
from PIL import Image, ImageChops, ImageStat

from nmt.configuration import Ensemble
from nmt.files import write_json, write_lines, write_text
from nmt.pages.finding import finding, ranked
from nmt.pages.index import pages
from nmt.paper.drawing import Drawing, draw, save
from nmt.paper.figures import file_name
from nmt.paper.results import RunFiles, find_runs
from tests.support import paper_runs
from tests.support.browser import DESKTOP, PHONE, opened
from tests.support.files import ROOT
from tests.support.paper_tables import publishing

DRAWN = ("learning-curves", "bleu-by-length", "attention")
# The best row is significantly better than all others, whichever it is.
SIGNIFICANCE = {
    "bleu": {
        "signatures": [],
        "systems": {
            row: {"interval": 1.0, "p_bootstrap": 0.0, "p_randomization": 0.0, "may_be_best": False}
            for row in paper_runs.reproduction().experiments
        },
    }
}


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
        picture.data.to_csv(stem.with_name(f"{stem.name}.csv"), index=False)
    write_json(folder / "tables" / "systems.significance.json", SIGNIFICANCE)
    texts = {"en": "a b c d e f", "de": "A B C D E F"}
    for language, text in texts.items():
        write_lines(results / "corpora/demo/raw" / f"test.{language}", [text])
    for row in chosen.experiments:
        path = results / "runs/demo" / row / "seed-1" / "test.translations.txt"
        write_lines(path, ["A B X D E F"])
    for name, page in pages(chosen, catalog, files, folder).items():
        write_text(folder / name, page)
    return folder


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_a_number_leads_to_its_run(browser, made, width):
    with opened(browser, (made / "index.html").as_uri(), width) as page:
        target = page.locator("#results td a").first.get_attribute("href")
        page.locator("#results td a").first.click()
        page.wait_for_url(f"**{target}")
        place = page.locator(f"[id='{target[1:]}']")
        page.wait_for_function("document.querySelector(':target')?.getBoundingClientRect().y < 740")
        text = place.inner_text()
        scores = [run.read("test.scores.json")["bleu"]["score"] for run in made_runs(made)[:2]]
        numbers = [f"{score:.2f}" for score in scores]
        facts = ("abcdef0123", "f" * 64, "made-up CPU", "Seed 2", *numbers)
        assert [fact for fact in facts if fact not in text] == []


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_and_boxes_show_where_there_is_more(browser, made, width, scheme):
    with opened(browser, (made / "index.html").as_uri(), width) as page:
        page.emulate_media(color_scheme=scheme)
        lightness = "(it) => getComputedStyle(it).{}.match(/\\d+/g).reduce((a, b) => a + +b, 0) / 3"
        body = page.locator("body")
        ink, paper = (body.evaluate(lightness.format(key)) for key in ("color", "backgroundColor"))
        assert abs(ink - paper) > 150
        assert (paper < ink) == (scheme == "dark")
        for box in page.locator(".scroll").all():
            assert box.bounding_box()["width"] <= width
            is_cut = box.evaluate("(it) => it.scrollWidth > it.clientWidth")
            assert shadows(box) == [is_cut, False]
            box.evaluate("(it) => { it.scrollLeft = it.scrollWidth; }")
            assert shadows(box) == [False, is_cut]


def shadows(box):
    """Whether the right edge of a box, and its left edge, look other than without a background."""
    with_shadows, without = (
        Image.open(io.BytesIO(box.screenshot(style=style)))
        for style in ("", ".scroll { background-image: none !important; }")
    )
    difference = ImageChops.difference(with_shadows, without).convert("L")
    width, height = difference.size
    edges = [(width - 4, 0, width, height), (0, 0, 4, height)]
    return [ImageStat.Stat(difference.crop(edge)).mean[0] > 10 for edge in edges]


def test_the_page_opens_with_who_won_and_an_example(made):
    page = (made / "index.html").read_text(encoding="utf-8")
    opening = page.partition("<h2>Results")[0]
    titles = {"demo-rnnencdec": "RNN without attention", "demo-rnnsearch": "RNN with attention"}
    titles["demo-transformer"] = "Transformer"
    means = dict.fromkeys(titles, 0.0)
    for run in made_runs(made):
        means[run.experiment] += run.read("test.scores.json")["bleu"]["score"] / 2
    best, second, _ = sorted(means, key=means.get, reverse=True)
    difference = round(means[best], 2) - round(means[second], 2)
    for part in (f"{titles[best]} is the best of 3", f"{means[best]:.2f} BLEU", "significant"):
        assert part in opening
    assert f"{difference:.2f} more than {titles[second]}" in opening
    assert opening.count("A B X D E F</dd>") == 3
    assert f"--model {made.parent / 'runs/demo' / best / 'seed-1/model'}" in opening
    data = re.search('id="data">(.*?)</script>', (made / "explorer.html").read_text("utf-8"))[1]
    assert json.loads(data)["best"] == titles[best]


def test_mistakes_of_the_example_are_marked(browser, made):
    with opened(browser, (made / "index.html").as_uri(), PHONE) as page:
        assert page.locator("#example dd mark").all_inner_texts() == ["X"] * 3


def made_runs(made):
    files = RunFiles(made.parent / "runs")
    rows = paper_runs.reproduction().experiments
    catalog = paper_runs.repository_catalog(ROOT)
    return find_runs(files, paper_runs.reproduction(), catalog, rows)


def test_results_come_first_and_no_figure_comes_twice(made):
    page = (made / "index.html").read_text(encoding="utf-8")
    headings = re.findall("<h2[^>]*>(.*?)</h2>", page)
    sections = ["Results", "Attention", "Training", "On request", "Runs"]
    assert headings == ["One sentence", *sections]
    figures = re.findall('<figure id="figure-(.*?)"', page)
    assert figures == ["systems.bleu-by-length", "attention", "systems.learning-curves"]
    assert "100% made up" in page
    assert re.search(r'Training loss.*?Rows: <a href="#table-systems">', page, re.DOTALL)
    assert "Convolutional" not in page  # no such family is here
    alt = re.search('id="figure-systems.bleu.*?alt="(.*?)"', page, re.DOTALL)[1]
    data = pd.read_csv(made / "figures/systems.bleu-by-length.csv")
    line = data[data.experiment == "demo-transformer"].bleu
    assert f"Transformer {line.iloc[0]:.3g} to {line.iloc[-1]:.3g}" in alt


def test_what_cannot_be_told_is_not_claimed():
    table = paper_runs.reproduction().tables["systems"]
    numbers = {"kind": "run", "bleu_published": None}
    rows = pd.DataFrame([{"title": "A", "bleu": 20.0}, {"title": "B", "bleu": 30.0}])
    order = ranked(table, rows.assign(**numbers))
    assert list(order.title) == ["B", "A"]
    assert "not tested" in finding(table, order)
    chance = order.assign(bleu_p_bootstrap=0.3, bleu_may_be_best=True)
    assert "may be chance" in finding(table, chance)
    assert finding(table, order[:1].assign(bleu_published=31.5)).startswith("B has 30.00")


def test_every_row_of_ours_has_links_and_cited_ones_have_none(made):
    page = (made / "index.html").read_text(encoding="utf-8")
    anchors = set(re.findall(r'id="(row-[^"]+)"', page))
    assert set(re.findall(r'<a href="#(row-[^"]+)">', page)) == anchors
    assert "<td>Their_system (published only)</td>" in page
    assert "<td></td>" in page  # an empty cell leads nowhere


def test_an_ensemble_is_a_row_beside_its_members(tmp_path, root):
    catalog = paper_runs.make_runs(tmp_path, root, paper_runs.reproduction((1,)))
    ensemble = Ensemble(title="Both", members={"demo-transformer": (1,), "demo-rnnsearch": (1,)})
    theirs = Ensemble(title="Theirs", translations={"test": "theirs.txt"})
    catalog = replace(catalog, ensembles={"both": ensemble, "theirs": theirs})
    chosen = paper_runs.reproduction((1,), experiments=["both", "theirs"])
    write_json(tmp_path / "runs/demo/theirs/ensemble/test.scores.json", paper_runs.scores(99))
    write_text(tmp_path / "made-up" / "tables" / "systems.csv", "")
    files = RunFiles(tmp_path / "runs")
    page = pages(chosen, catalog, files, tmp_path / "made-up")["index.html"]
    assert "Ensemble of demo-transformer 1, demo-rnnsearch 1" in page
    anchors = re.findall(r'id="row-([^"]+)"', page)
    assert anchors == ["both", "theirs", "demo-transformer", "demo-rnnsearch"]
    assert "theirs/ensemble/model" not in page  # they are best, but there is nothing to try
