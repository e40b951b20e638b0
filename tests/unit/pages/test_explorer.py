"""The attention explorer in a browser, from recorded sentences."""

import numpy as np
import pytest

from nmt.configuration import load_catalog
from nmt.pages.render import explorer_page
from tests.support import paper_runs
from tests.support.browser import DESKTOP, PHONE, opened

PLACE = ("model", "sentence", "kind", "layer")
ROWS = ("demo-rnnencdec", "demo-rnnsearch", "demo-transformer", "demo-small-decoder-only")


@pytest.fixture(scope="module")
def address(tmp_path_factory, root):
    rng = np.random.default_rng(1)
    catalog = load_catalog(root / "config")
    models = [paper_runs.attention(catalog.experiment(name), rng) for name in ROWS]
    for model in models:
        model["sentences"].append(model["sentences"][0] | {"reference": "Der Alte schläft ."})
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    page = explorer_page("Made up </script> & co", models, best="Transformer")
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_every_kind_layer_and_head_is_shown(browser, address, width):
    with opened(browser, address, width) as page:
        kinds = page.locator("#kind option").all_text_contents()
        assert kinds == ["cross-attention", "encoder self-attention", "decoder self-attention"]
        for kind, rows, columns in zip(kinds, (6, 7, 6), (7, 7, 6), strict=True):
            page.select_option("#kind", kind)
            assert page.locator("#map td").count() == 1 + rows * columns
            maps = set()
            for layer in ("layer 1", "layer 2"):
                page.select_option("#layer", layer)
                small = "[...document.querySelectorAll('canvas')].map((it) => it.toDataURL())"
                assert len(set(page.evaluate(small))) == 5  # each head, and their mean
                for head in range(4):
                    page.get_by_role("button", name=f"Head {head + 1}").click()
                    maps.add(page.locator("#map").inner_html())
                    page.get_by_role("button", name="All heads").click()
            assert len(maps) == 8


def test_it_opens_on_the_best_models_top_layer_beside_a_reference(browser, address):
    with opened(browser, address, DESKTOP) as page:
        assert [page.locator(f"#{id}").input_value() for id in PLACE] == [
            *("Transformer", "1", "cross-attention", "layer 2")
        ]
        assert page.locator("#reference").inner_text() == "Reference: Der Alte schläft ."


def test_the_address_has_the_place(browser, address):
    with opened(browser, address, DESKTOP) as page:
        page.select_option("#sentence", "0")
        page.select_option("#kind", "encoder self-attention")
        page.select_option("#layer", "layer 1")
        page.get_by_role("button", name="Head 3").click()
        page.wait_for_url("**heads=3")
        place, shown = page.url, page.locator("#attention").inner_html()
        assert not page.locator("#reference").is_visible()  # the sentence has none
        page.goto("about:blank")
        page.goto(place)
        assert page.locator("#attention").inner_html() == shown
        page.goto(address + "#model=None&layer=layer 7&heads=9 x")  # not on this page
        page.wait_for_url("**layer=layer+2")
        page.goto(address)


def test_a_decoder_only_model_shows_its_tags_and_both_sides(browser, address):
    with opened(browser, address, DESKTOP) as page:
        page.select_option("#model", "Decoder-only")
        words = [
            page.locator(f"#{side} button").all_text_contents() for side in ("queries", "keys")
        ]
        assert words[0] == words[1]
        assert words[0][0] == "<en>"
        assert words[0][8:10] == ["<de>", "_der"]
        assert page.locator("#map td").count() == 1 + 14 * 14


def test_a_model_without_attention_says_so(browser, address):
    with opened(browser, address, PHONE) as page:
        page.select_option("#model", "RNN without attention")
        assert page.locator("#none").is_visible()
        assert not page.locator("#attention").is_visible()
