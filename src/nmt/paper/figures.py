"""The names of all figures, and how each is drawn."""

from collections.abc import Callable

import matplotlib

from nmt.paper.comparisons import bleu_by_length, cost, parameters, search, speed, subword_lengths
from nmt.paper.curves import learning_curves, learning_rate
from nmt.paper.drawing import STYLE, Drawing, Picture, empty_figure
from nmt.paper.gradients import gradient_norms
from nmt.paper.heads import decoder_self_attention, encoder_self_attention
from nmt.paper.heatmaps import alignment, attention
from nmt.paper.positions import positional_encodings, runs_with_learned_positions
from nmt.paper.results import commits
from nmt.provenance import commit


def layers(drawing: Drawing) -> Picture:
    """Draw what measure_layers.py has measured on this machine."""
    from nmt.paper import layer_costs  # Torch takes seconds to import: other figures need none.

    return layer_costs.layers(drawing)


# Figures that each table has
TABLE_FIGURES: dict[str, Callable[[Drawing], Picture]] = {
    "learning-curves": learning_curves,
    "learning-rate": learning_rate,
    "gradient-norms": gradient_norms,
    "bleu-by-length": bleu_by_length,
    "cost": cost,
    "parameters": parameters,
    "speed": speed,
    "subword-lengths": subword_lengths,
}
# All figures: the others are drawn once, for the rows of the first table
FIGURES = TABLE_FIGURES | {
    "positional-encodings": positional_encodings,
    "attention": attention,
    "encoder-self-attention": encoder_self_attention,
    "decoder-self-attention": decoder_self_attention,
    "alignment": alignment,
    "search": search,
    "layers": layers,
}
# Figures of trainings, of which an ensemble has none of its own
OF_TRAININGS = {"learning-curves", "learning-rate", "speed", "subword-lengths", "search"}
# Figures that need no run
FORMULAS = {"positional-encodings", "layers"}


def origin(name: str, drawing: Drawing) -> str:
    """Return the commits that trained the runs drawn, or for a formula the code's own."""
    if name not in FORMULAS:
        return f"Commit {commits(drawing.runs)}"
    learned = runs_with_learned_positions(drawing)[:1] if name == "positional-encodings" else []
    return f"Commit {commits(learned) or commit()}"


def draw(name: str, drawing: Drawing) -> Picture:
    """Return the figure FIGURES[name]; the same rows and results give the same figure."""
    with matplotlib.rc_context(STYLE):
        if name in OF_TRAININGS and not drawing.single_runs:
            return empty_figure(drawing, "No row of this table is a single model.")
        return FIGURES[name](drawing)


def file_name(figure: str, table: str) -> str:
    """Return the name of a figure's files, without their endings."""
    return f"{table}.{figure}" if figure in TABLE_FIGURES else figure
