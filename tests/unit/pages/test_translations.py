"""The page of translations, in a browser."""

import pytest
from sacrebleu.metrics import CHRF

from nmt.errors import UserError
from nmt.files import write_lines
from nmt.pages.translations import read_texts, translations_page
from nmt.paper.results import RunFiles
from tests.support import paper_runs
from tests.support.browser import DESKTOP, PHONE, opened

SOURCES = ["a b c", "one two three four five </script>", *[f"line {n}" for n in range(2, 30)]]
REFERENCES = ["A B C", "eins zwei drei vier", *[f"Zeile {n}" for n in range(2, 30)]]
BAD = ["A X C", "eins drei vier fünf", *["Spalte"] * 28]


def make_page(folder, root, bad=BAD):
    chosen, catalog = paper_runs.reproduction(), paper_runs.repository_catalog(root)
    rows = dict(zip(chosen.experiments, (bad, REFERENCES, REFERENCES), strict=True))
    for name, lines in {"en": SOURCES, "de": REFERENCES}.items():
        write_lines(folder / f"corpora/demo/raw/test.{name}", lines)
    for row, lines in rows.items():
        write_lines(folder / f"runs/demo/{row}/seed-1/test.translations.txt", lines)
    texts = read_texts("systems", chosen, catalog, RunFiles(folder / "runs"))
    return translations_page("systems", chosen, catalog, texts)


@pytest.fixture(scope="module")
def address(tmp_path_factory, root):
    folder = tmp_path_factory.mktemp("translations")
    path = folder / "page.html"
    path.write_text(make_page(folder, root), encoding="utf-8")
    return path.as_uri()


def numbers(page):
    return [int(text.split()[1]) for text in page.locator("#list h4").all_inner_texts()]


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_side_by_side_with_differences_sorted_and_searched(browser, address, width):
    with opened(browser, address, width) as page:
        assert numbers(page) == list(range(1, 21))
        first, second = page.locator("#list > li").nth(0), page.locator("#list > li").nth(1)
        assert first.locator("mark").all_inner_texts() == ["X"]
        assert second.locator("mark").all_inner_texts() == ["fünf"]
        assert "</script>" in second.inner_text()
        score = CHRF().sentence_score(BAD[0], [REFERENCES[0]]).score
        assert f"{score:.1f}" in first.inner_text()
        page.get_by_role("button", name="Next").click()
        assert numbers(page) == list(range(21, 31))
        page.select_option("#order", "smallest difference")
        assert set(numbers(page)[:2]) == {1, 2}
        page.locator("#search").fill("EINS")
        assert numbers(page) == [2]


def test_the_page_holds_every_line_and_no_text_ends_its_script(tmp_path, root):
    page = make_page(tmp_path, root)
    assert "five \\u003c/script" in page
    assert all(line in page for line in [*REFERENCES, *BAD])


def test_files_that_are_not_parallel_are_refused(tmp_path, root):
    with pytest.raises(UserError, match="demo-rnnencdec"):
        make_page(tmp_path, root, BAD[:-1])
