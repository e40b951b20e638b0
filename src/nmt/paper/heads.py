"""The figures of self-attention: lines between two copies of a sentence (AIAYN figures 3 to 5)."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from nmt.paper.drawing import COLORS, PAGE, Drawing, Picture, new_figure, nothing
from nmt.paper.heatmaps import recorded

# Lines of smaller weights are not drawn.
LEAST_WEIGHT = 0.05
# With more subwords, a panel takes the width of the page.
SUBWORDS_OF_A_COLUMN = 26
# Inches of a panel, with the words above and below its lines
PANEL_HEIGHT = 2.25
# Heads have a role if they give it at least this share of their weights.
LEAST_STRENGTH = 0.25
# The words whose heads may look for what they stand for, by language.
PRONOUNS = {
    "en": {"he", "she", "it", "they", "him", "them", "his", "its", "their", "her", "himself"},
    "de": {"er", "sie", "es", "ihn", "ihm", "ihnen", "sein", "seine", "ihr"},  # codespell:ignore
    "fr": {"il", "elle", "ils", "elles", "le", "lui", "leur", "son", "sa", "ses"},
}
# Heads by role: what a query has to look at.
ROLES: dict[str, Callable[[np.ndarray], float]] = {
    "the previous subword": lambda weights: np.diagonal(weights, -1).mean(),
    "the same subword": lambda weights: np.diagonal(weights).mean(),
    "the next subword": lambda weights: np.diagonal(weights, 1).mean(),
    "the first subword": lambda weights: weights[1:, 0].mean(),
    "the last subword": lambda weights: weights[:-1, -1].mean(),
}


@dataclass(frozen=True)
class Panel:
    """Weights of some heads (S, S) of one layer, of one query or of all."""

    title: str
    heads: dict[str, np.ndarray]
    query: int | None = None


def encoder_self_attention(drawing: Drawing) -> Picture:
    """Draw the encoder self-attention of the table's first row that has some."""
    return self_attention(drawing, "encoder")


def decoder_self_attention(drawing: Drawing) -> Picture:
    """Draw the decoder self-attention of the table's first row that has some."""
    return self_attention(drawing, "decoder")


def self_attention(drawing: Drawing, part: str) -> Picture:
    """Draw one word's heads, a pronoun's heads where there is one, and heads by their role."""
    for run in drawing.first_runs:
        values = recorded(run)
        layers = values.maps.get(f"{part} self-attention")
        if layers:
            break
    else:
        return nothing(f"No row of this table has {part} self-attention.")
    words = values.source if part == "encoder" else values.inputs
    corpus = drawing.catalog.corpus(drawing.reproduction.corpus)
    language = corpus.source if part == "encoder" else corpus.target
    panels = self_attention_panels(layers, words, PRONOUNS.get(language, set()))

    columns = 1 if len(words) > SUBWORDS_OF_A_COLUMN else 2
    rows = math.ceil(len(panels) / columns)
    figure = new_figure(PAGE, rows * PANEL_HEIGHT)
    grid = figure.subplots(rows, columns, squeeze=False).flatten()
    for axes, panel in zip(grid, panels, strict=False):
        draw_panel(axes, panel, words)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    note = f"{drawing.title(run.experiment)}. No line is of less than {LEAST_WEIGHT}"
    return Picture(figure, line_data(panels, words), values.shown, (run,), note)


def self_attention_panels(
    layers: dict[str, np.ndarray], words: list[str], pronouns: set[str]
) -> list[Panel]:
    """Return the panels: layers (H, S, S) by name, for a sentence of S subwords.

    Single words are drawn of the last layer but one, as AIAYN's are.
    """
    name = list(layers)[max(0, len(layers) - 2)]
    heads = {f"head {number}": weights for number, weights in enumerate(layers[name], start=1)}
    query = farthest_looking(layers[name], words)
    panels = [Panel(f"{name}, all heads: {words[query].lstrip('_')}", heads, query)]
    for query, word in enumerate(words):
        if word.lstrip("_").lower() in pronouns:
            sharpest = sorted(heads, key=lambda head: -heads[head][query].max())[:2]
            chosen = {head: heads[head] for head in sorted(sharpest)}
            title = f"{name}, the sharpest heads: {word.lstrip('_')}"
            panels.append(Panel(title, chosen, query))
            break
    return panels + role_panels(layers)


def role_panels(layers: dict[str, np.ndarray]) -> list[Panel]:
    """Return a panel of the head that fills each role best, and of the sharpest that fills none.

    A head stands for the role that it fills best alone.
    """
    by_name = {
        f"{layer}, head {number}": weights
        for layer, heads in layers.items()
        for number, weights in enumerate(heads, start=1)
    }
    best_roles = {
        name: max((float(strength(weights)), role) for role, strength in ROLES.items())
        for name, weights in by_name.items()
    }
    panels = []
    for role in ROLES:
        candidates = {
            name: strength for name, (strength, its_role) in best_roles.items() if its_role == role
        }
        name = max(candidates, key=candidates.__getitem__, default=None)
        if name and candidates[name] >= LEAST_STRENGTH:
            title = f"{role}: {name} ({candidates[name]:.2f})"
            panels.append(Panel(title, {name: by_name[name]}))
    without_role = [name for name, (best, _) in best_roles.items() if best < LEAST_STRENGTH]
    if without_role:
        name = max(without_role, key=lambda name: by_name[name].max(-1).mean())
        mean = by_name[name].max(-1).mean()
        panels.append(Panel(f"another head: {name} ({mean:.2f})", {name: by_name[name]}))
    return panels


def farthest_looking(heads: np.ndarray, words: list[str]) -> int:
    """Return the word (S, of which the last ends the sentence) that looks farthest on average.

    heads: (H, S, S). It is compared with looking everywhere alike, which is farther from the ends
    of a sentence. Weights on the first and the last subword do not count: heads that have nothing
    to look at rest there.
    """
    position = np.arange(len(words))
    distance = np.abs(position[:, None] - position).astype(float)
    distance[:, [0, -1]] = 0
    mean_distance = (heads.mean(0) * distance).sum(1) / distance.mean(1)
    is_word = [word.startswith("_") and word[1:].isalpha() for word in words]
    candidates = [index for index in position if is_word[index]] or list(position)
    return int(max(candidates, key=lambda index: mean_distance[index]))


def draw_panel(axes: Axes, panel: Panel, words: list[str]) -> None:
    """Draw the lines of the panel between two copies of the sentence."""
    many = len(panel.heads) > 1
    # The lines of all queries cross, those of one do not.
    faintest = 0.15 if panel.query is None else 0.4
    middle = (len(panel.heads) - 1) / 2
    for number, (label, weights) in enumerate(panel.heads.items()):
        color = COLORS[number % len(COLORS)]
        offset = 0.5 * (number - middle) / len(panel.heads) if many else 0
        for query, key in drawn_lines(panel, weights):
            weight = weights[query, key]
            axes.plot(
                [query, key + offset],
                [1, 0],
                color=color,
                alpha=min(1, faintest + (1 - faintest) * weight),
                linewidth=0.4 + 2.2 * weight,
                solid_capstyle="butt",
            )
        axes.add_line(Line2D([], [], color=color, label=label))
    axes.set_xlim(-0.7, len(words) - 0.3)
    axes.set_ylim(0, 1)
    axes.grid(False)
    axes.spines[:].set_visible(False)
    axes.set_yticks([])
    axes.tick_params(length=0, pad=1)
    axes.set_xticks(range(len(words)), words, rotation=90)
    top = axes.secondary_xaxis("top")
    top.set_xticks(range(len(words)), words, rotation=90)
    top.tick_params(length=0, pad=1)
    top.spines[:].set_visible(False)
    if panel.query is not None:
        top.get_xticklabels()[panel.query].set_fontweight("bold")
    axes.set_title(panel.title)
    if many:
        # Where the lines are few: at the end of the sentence that is farther away.
        is_early = panel.query is not None and panel.query < len(words) / 2
        columns = math.ceil(len(panel.heads) / 4)
        axes.legend(loc=7 if is_early else 6, handlelength=1, ncols=columns)  # right or left


def drawn_lines(panel: Panel, weights: np.ndarray) -> list[tuple[int, int]]:
    """Return the queries and keys between which a head has a line."""
    queries = range(len(weights)) if panel.query is None else [panel.query]
    return [
        (query, int(key))
        for query in queries
        for key in np.flatnonzero(weights[query] >= LEAST_WEIGHT)
    ]


def line_data(panels: list[Panel], words: list[str]) -> pd.DataFrame:
    """Return a line for each line that is drawn."""
    return pd.DataFrame(
        [
            {
                "panel": panel.title,
                "head": head,
                "query_position": query,
                "query": words[query],
                "key_position": key,
                "key": words[key],
                "weight": weights[query, key],
            }
            for panel in panels
            for head, weights in panel.heads.items()
            for query, key in drawn_lines(panel, weights)
        ]
    )
