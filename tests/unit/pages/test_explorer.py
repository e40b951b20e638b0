"""The attention explorer in a browser, from recorded sentences."""

import numpy as np
import pytest

from nmt.configuration import load_catalog
from nmt.pages.render import explorer_page
from tests.support import paper_runs
from tests.support.browser import DESKTOP, PHONE, opened

ROWS = ("demo-rnnencdec", "demo-rnnsearch", "demo-transformer")


@pytest.fixture(scope="module")
def address(tmp_path_factory, root):
    rng = np.random.default_rng(1)
    catalog = load_catalog(root / "config")
    models = [paper_runs.attention(catalog.experiment(name), rng) for name in ROWS]
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(explorer_page("Made up </script> & co", models), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_every_kind_layer_and_head_is_shown(browser, address, width):
    with opened(browser, address, width) as page:
        assert page.locator("#model").input_value() == "1"  # the first that has attention
        page.select_option("#model", "2")
        kinds = page.locator("#kind option").all_text_contents()
        assert kinds == ["cross-attention", "encoder self-attention", "decoder self-attention"]
        for kind, rows, columns in zip(kinds, (6, 7, 6), (7, 7, 6), strict=True):
            page.select_option("#kind", kind)
            assert page.locator("#map td").count() == 1 + rows * columns
            maps = set()
            for layer in ("layer 1", "layer 2"):
                page.select_option("#layer", layer)
                for head in range(4):
                    page.get_by_role("button", name=f"Head {head + 1}").click()
                    maps.add(page.locator("#map").inner_html())
                    page.get_by_role("button", name="All heads").click()
            assert len(maps) == 8


def test_words_say_what_they_look_at(browser, address):
    with opened(browser, address, DESKTOP) as page:
        page.locator("#queries button").nth(0).hover()
        assert " looks at: " in page.locator("#status").inner_text()
        page.locator("#keys button").nth(1).focus()
        assert "is looked at by: " in page.locator("#status").inner_text()


def test_a_model_without_attention_says_so(browser, address):
    with opened(browser, address, PHONE) as page:
        page.select_option("#model", "0")
        assert page.locator("#none").is_visible()
        assert not page.locator("#attention").is_visible()
