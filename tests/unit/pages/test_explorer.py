"""The attention explorer in a browser, from recorded sentences."""

import pytest

from nmt.pages.explorer import explorer_page
from nmt.serving.attention import attend
from nmt.serving.folder import TranslationModel
from tests.support import tiny_models
from tests.support.browser import DESKTOP, PHONE, opened

FAMILIES = ("seq2seq", "rnnsearch", "transformer")


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorer")
    models = []
    for family in FAMILIES:
        model = TranslationModel(tiny_models.make_model(folder, family))
        sentences = [attend(model, line) for line in tiny_models.SOURCE[:2]]
        models.append({"title": family, "sentences": sentences})
    path = folder / "explorer.html"
    path.write_text(explorer_page("Tiny </script> & co", models), encoding="utf-8")
    return path.as_uri()


def texts(page, selector):
    return page.eval_on_selector_all(selector, "items => items.map((item) => item.textContent)")


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_every_kind_layer_and_head_is_shown(browser, address, width):
    with opened(browser, address, width) as page:
        assert page.locator("#model").input_value() == "1"  # the first that has attention
        assert texts(page, "#kind option") == ["cross-attention"]
        page.select_option("#model", "2")
        kinds = texts(page, "#kind option")
        assert kinds == ["cross-attention", "encoder self-attention", "decoder self-attention"]
        sizes = {}
        for kind in kinds:
            page.select_option("#kind", kind)
            rows = page.locator("#map tr").count() - 1
            sizes[kind] = rows, page.locator("#map td").count() // rows
            maps = set()
            for layer in ("0", "1"):
                page.locator("#layer").fill(layer)
                for head in range(4):
                    page.get_by_role("button", name=f"Head {head + 1}").click()
                    maps.add(page.locator("#map").inner_html())
                    page.get_by_role("button", name="All heads").click()
            assert len(maps) == 8
        source, target = len(texts(page, "#queries button")), sizes["cross-attention"][0]
        assert sizes["decoder self-attention"] == (target, target)
        assert sizes["encoder self-attention"][0] == sizes["cross-attention"][1] != source


def test_a_model_without_attention_says_so(browser, address):
    with opened(browser, address, PHONE) as page:
        page.select_option("#model", "0")
        assert page.locator("#none").is_visible()
        assert not page.locator("#attention").is_visible()
        assert page.locator("#translations li").count() == 2


def test_words_and_cells_by_mouse_and_keyboard(browser, address):
    with opened(browser, address, DESKTOP) as page:
        status = page.locator("#status")
        page.locator("#queries button").nth(0).hover()
        assert " looks at: " in status.inner_text()
        page.mouse.move(0, 0)
        page.locator("#keys button").nth(1).focus()
        assert "is looked at by: " in status.inner_text()
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        assert page.locator("#queries button").nth(1).get_attribute("aria-pressed") == "true"
        page.keyboard.press("Escape")
        assert page.locator('.words [aria-pressed="true"]').count() == 0
        page.locator("#map td").nth(0).focus()
        first = status.inner_text()
        page.keyboard.press("ArrowRight")
        assert " → " in first
        assert status.inner_text() != first


def test_the_threshold_drops_lines(browser, address):
    with opened(browser, address, DESKTOP) as page:
        counts = []
        for threshold in ("0", "0.15", "1"):
            page.locator("#threshold").fill(threshold)
            counts.append(page.locator("#lines line").count())
        assert counts[0] > counts[1] >= counts[2]


def test_the_mean_of_heads_is_shown(browser, address):
    with opened(browser, address, DESKTOP) as page:
        page.select_option("#model", "2")
        shown = page.evaluate("weights()[0][0]")
        heads = page.evaluate("layers()[0][1].map((head) => head[0][0])")
        assert shown == pytest.approx(sum(heads) / len(heads) / 1000)
