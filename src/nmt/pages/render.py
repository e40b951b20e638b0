"""Pages from templates, each a single file: style, scripts, data and pictures are inside."""

import base64
import json
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from nmt.paper.drawing import COLUMN, STYLE

TEMPLATES = Path(__file__).parent / "templates"
ENVIRONMENT = Environment(
    loader=FileSystemLoader(TEMPLATES),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)


def render(template: str, **values: object) -> str:
    """Return the page that a template makes of the values; what they hold is escaped."""
    return ENVIRONMENT.get_template(template).render(**values)


def embedded(value: object) -> Markup:
    """Return a value as JSON for a script element, which none of its texts can end."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028"))


def is_wide(path: Path) -> bool:
    """Return whether the figure of a PNG is wider than a column of a paper."""
    pixels = int.from_bytes(path.read_bytes()[16:20], "big")
    return pixels > 1.5 * COLUMN * STYLE["savefig.dpi"]


def picture(path: Path) -> str:
    """Return a PNG as the address of an image that is inside the page."""
    return f"data:image/png;base64,{base64.b64encode(path.read_bytes()).decode()}"
