"""Pages from templates, each a single file: style, scripts, data and pictures are inside."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from nmt.serving.card import Settings

ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent / "templates"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
# Of values in a script element, which none of their texts can end
ENVIRONMENT.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "separators": (",", ":")}


def render(template: str, **values: object) -> str:
    """Return the page that a template makes of the values; what they hold is escaped."""
    return ENVIRONMENT.get_template(template).render(**values)


def explorer_page(
    title: str, models: list[dict], best: str = "", served: Settings | None = None
) -> str:
    """Return the page of models whose attention attend.py has written.

    best: the title of the model that the page opens on.
    served: configuration.json of the model where a server translates what is typed into the page.
    """
    data = {"models": models, "best": best}
    return render("explorer.html.j2", title=title, data=data, served=served)
