"""The page of translations, in a browser."""

import pytest
from sacrebleu.metrics import CHRF

from nmt.errors import UserError
from nmt.files import write_lines
from nmt.pages.translations import translations_page
from tests.support import paper_runs
from tests.support.browser import DESKTOP, PHONE, opened

SOURCES = ["a b c", "one two three four five </script>", *[f"line {n}" for n in range(2, 30)]]
REFERENCES = ["A B C", "eins zwei drei vier", *[f"Zeile {n}" for n in range(2, 30)]]
GOOD = REFERENCES
BAD = ["A X C", "eins drei vier fünf", *["Spalte"] * 28]
SIGNIFICANCE = {
    "bleu": {
        "signatures": ["s1", "s2"],
        "systems": {
            "demo-rnnsearch": {
                "score": 20.0,
                "interval": 1.0,
                "p_bootstrap": 0.0004,
                "p_randomization": 0.04,
                "may_be_best": False,
            },
            "demo-transformer": {
                "score": 30.0,
                "interval": 1.5,
                "p_bootstrap": None,
                "p_randomization": None,
                "may_be_best": True,
            },
        },
    }
}


def make_page(folder, root, bad=BAD):
    files = {"source": SOURCES, "reference": REFERENCES, "bad": bad, "good": GOOD}
    for name, lines in files.items():
        write_lines(folder / name, lines)
    return translations_page(
        "systems",
        paper_runs.reproduction(),
        paper_runs.repository_catalog(root),
        {"demo-rnnsearch": folder / "bad", "demo-transformer": folder / "good"},
        folder / "source",
        folder / "reference",
        SIGNIFICANCE,
    )


@pytest.fixture(scope="module")
def address(tmp_path_factory, root):
    folder = tmp_path_factory.mktemp("translations")
    path = folder / "page.html"
    path.write_text(make_page(folder, root), encoding="utf-8")
    return path.as_uri()


def numbers(page):
    headings = page.locator("#list h3").all_inner_texts()
    return [int(text.split()[1].rstrip(",")) for text in headings]


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_side_by_side_with_differences(browser, address, width):
    with opened(browser, address, width) as page:
        assert numbers(page) == list(range(1, 21))
        first, second = page.locator("#list > li").nth(0), page.locator("#list > li").nth(1)
        assert first.locator("mark").all_inner_texts() == ["X"]
        assert second.locator("mark").all_inner_texts() == ["fünf"]
        assert "</script>" in second.inner_text()
        assert "< 0.001" in page.locator("details").first.inner_text()
        score = CHRF().sentence_score(BAD[0], [REFERENCES[0]]).score
        assert f"{score:.1f}" in first.inner_text()
        page.get_by_role("button", name="Next").first.click()
        assert numbers(page) == list(range(21, 31))
        assert page.get_by_role("button", name="Next").first.is_disabled()


def test_sorted_searched_and_filtered(browser, address):
    with opened(browser, address, PHONE) as page:
        page.select_option("#order", "smaller")
        assert set(numbers(page)[:2]) == {1, 2}
        page.select_option("#order", "larger")
        assert not {1, 2} & set(numbers(page))
        page.select_option("#order", "corpus")
        page.locator("#search").focus()
        page.keyboard.type("EINS")
        assert numbers(page) == [2]
        page.locator("#search").fill("")
        page.locator("#least").fill("3")
        assert numbers(page) == [1, 2]
        page.locator("#most").fill("4")
        assert numbers(page) == [1]
        page.locator("#search").fill("nowhere")
        assert page.locator("#count").inner_text() == "No sentence is like this."


def test_files_that_are_not_parallel_are_refused(tmp_path, root):
    with pytest.raises(UserError, match="bad"):
        make_page(tmp_path, root, BAD[:-1])
