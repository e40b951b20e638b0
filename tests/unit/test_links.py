"""Relative links and anchors in the repository's pages lead to files and headings that exist."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Folders whose pages are the project's own; of results, only its README is.
FOLDERS = ("docs", "config", "envs", "src", "tests", "workflow")
PAGES = [*sorted(ROOT.glob("*.md")), ROOT / "results/README.md"]
PAGES += [page for folder in FOLDERS for page in sorted((ROOT / folder).rglob("*.md"))]

BLOCK_OF_CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
INLINE_CODE = re.compile(r"`[^`\n]*`")
# Links of Markdown, and of HTML
LINKS = (re.compile(r"\]\(([^()\s]+)\)"), re.compile(r'(?:src|href)="([^"]+)"'))
HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """Return the anchors that GitHub gives to a page's headings."""
    text = BLOCK_OF_CODE.sub("", page.read_text(encoding="utf-8"))
    slugs = [
        re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        for heading in HEADING.findall(text)
    ]
    repeats = {f"{slug}-{n}" for slug, count in Counter(slugs).items() for n in range(1, count)}
    return {*slugs, *repeats}


def broken_links(page: Path) -> list[str]:
    """Return the relative links of a page that lead nowhere."""
    text = INLINE_CODE.sub("", BLOCK_OF_CODE.sub("", page.read_text(encoding="utf-8")))
    links = [link for pattern in LINKS for link in pattern.findall(text)]
    broken = []
    for link in links:
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    assert broken_links(page) == []
