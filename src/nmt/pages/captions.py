"""The captions of Snakemake's report, which pages show too: one text for both."""

import re
from html import escape
from pathlib import Path

from jinja2 import Environment
from markupsafe import Markup

from nmt.configuration import Reproduction


def caption(path: Path, reproduction: Reproduction) -> Markup:
    """Return a caption in HTML: of reStructuredText it may have **strong** and ``literal`` text.

    A figure without a caption has an empty one.
    """
    if not path.exists():
        return Markup()
    values = {"config": reproduction.model_dump()}
    text = Environment().from_string(path.read_text(encoding="utf-8")).render(snakemake=values)
    text = text.strip().removesuffix(f"{reproduction.title}.").strip()
    html = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(text, quote=False))
    return Markup(re.sub(r"``(.+?)``", r"<code>\1</code>", html))
