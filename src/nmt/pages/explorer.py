"""The page that shows attention: with recorded sentences, or with a model behind it."""

from nmt.pages.render import embedded, render
from nmt.serving.attention import SCALE
from nmt.serving.folder import TranslationModel


def explorer_page(title: str, models: list[dict]) -> str:
    """Return the page of models whose attention attend.py has written."""
    data = embedded({"scale": SCALE, "models": models})
    return render("explorer.html.j2", title=title, data=data, live=False)


def live_page(model: TranslationModel) -> str:
    """Return the page that asks its server to translate what is typed."""
    title = model.experiment.title
    data = embedded({"scale": SCALE, "models": [{"title": title, "sentences": []}]})
    return render(
        "explorer.html.j2",
        title=title,
        data=data,
        live=True,
        connect="'self'",
        source=model.configuration["source"],
        target=model.configuration["target"],
    )
