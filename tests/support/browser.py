"""A headless Chromium, and what must be true of every page in it."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
DESKTOP = 1280
PHONE = 360


@contextmanager
def chromium() -> Iterator:
    """Start a browser, or skip the test and say how to get one."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    if CHROMIUM is None:
        pytest.skip("tests of pages: there is no Chromium here (apt-get install chromium)")
    sandbox = ["--no-sandbox"] if os.geteuid() == 0 else []  # root has none
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=sandbox)
        yield browser
        browser.close()


@contextmanager
def opened(browser, address: str, width: int) -> Iterator:
    """Open a page; when the test is done with it, check what must be true of every page.

    It asked for nothing but itself and what its own server answers, no script failed, nothing
    scrolls sideways but boxes that show it, and it has a language, a title and texts for its
    pictures and its controls.
    """
    page = browser.new_page(viewport={"width": width, "height": 740})
    requests: list[str] = []
    faults: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda line: faults.append(line.text) if line.type == "error" else None)
    page.goto(address)
    yield page
    base = address.partition("#")[0]
    requests = [url for url in requests if url != "about:blank"]
    local = base if base.startswith("http://127.0.0.1:") else None
    assert [url for url in requests if url != base and not (local and url.startswith(local))] == []
    assert faults == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    wide = (
        "[...document.querySelectorAll('main *')].filter((it) => it.scrollWidth > it.clientWidth)"
    )
    scrolled = f"{wide}.filter((it) => getComputedStyle(it).overflowX == 'auto')"
    assert page.evaluate(f"{scrolled}.filter((it) => !it.matches('.scroll')).length") == 0
    assert page.evaluate("document.documentElement.lang") == "en"
    assert page.title()
    assert page.evaluate("[...document.images].filter((image) => !image.alt).length") == 0
    controls = "[...document.querySelectorAll('input, select')]"
    assert page.evaluate(f"{controls}.filter((it) => !it.labels.length).map((it) => it.id)") == []
    page.close()
