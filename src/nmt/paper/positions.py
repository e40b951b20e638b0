"""The figure of positions: sinusoids, and beside them rotary ones and ALiBi."""

import numpy as np
import pandas as pd

from nmt.configuration import SelfAttention
from nmt.models.position_bias import alibi_slopes
from nmt.models.positions import sinusoids
from nmt.paper.drawing import COLORS, DASHES, PAGE, Drawing, Picture, new_figure
from nmt.paper.heatmaps import heat_map

POSITIONS = 100
# At most this many heads of ALiBi are drawn: more lines would hide each other.
MOST_HEADS = 8


def positional_encodings(drawing: Drawing) -> Picture:
    """Draw sinusoids, and how positions at a distance compare in the other kinds of positions.

    Widths are those of the table's first Transformer; formulas need no run.
    """
    rows = drawing.catalog.experiments
    models = {name: rows[name].model for name in drawing.table.experiments if name in rows}
    widths = [(name, model) for name, model in models.items() if isinstance(model, SelfAttention)]
    name, model = widths[0]
    encodings = pd.DataFrame(sinusoids(POSITIONS, model.d_model).numpy())
    encodings.columns = [f"dimension {dimension}" for dimension in encodings]
    products = pd.DataFrame(
        {
            f"sinusoids, d_model {model.d_model}": products_by_distance(model.d_model),
            f"rotary, d_k {model.key_width}": products_by_distance(model.key_width),
        }
    )
    slopes = alibi_slopes(model.heads)[:MOST_HEADS]
    alibi = pd.DataFrame(
        {f"head {head}": -slope * np.arange(POSITIONS) for head, slope in enumerate(slopes, 1)}
    )

    figure = new_figure(PAGE, 2.4)
    image_axes, product_axes, alibi_axes = figure.subplots(1, 3)
    image = heat_map(image_axes, encodings.to_numpy().T, "RdBu_r", (-1, 1), aspect="auto")
    image_axes.set(title="sinusoids", xlabel="position")
    image_axes.set_ylabel("dimension\n(even: sine, odd: cosine)")
    figure.colorbar(image, ax=image_axes, ticks=(-1, 0, 1), aspect=25, pad=0.02)
    for axes, curves in ((product_axes, products), (alibi_axes, alibi)):
        curves.plot(ax=axes, color=COLORS, style=[*DASHES, *DASHES])
    product_axes.axhline(0, color="#999999", linewidth=0.5)
    product_axes.set(title="dot products", xlabel="distance", ylabel="share of that at distance 0")
    product_axes.legend(loc="upper right")
    alibi_axes.set(title="ALiBi", xlabel="distance", ylabel="added to the score", ylim=(-20, 0.5))
    alibi_axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=3)
    panels = {"sinusoids": encodings, "dot products": products, "ALiBi": alibi}
    data = pd.concat(
        {
            panel: curves.rename_axis(index="position_or_distance", columns="curve").stack()
            for panel, curves in panels.items()
        },
        names=["panel"],
    )
    note = f"d_model {model.d_model} and {model.heads} heads, as {rows[name].title} has them"
    return Picture(figure, data.rename("value").reset_index(), note=note)


def products_by_distance(width: int) -> np.ndarray:
    """Return the products of two positions at distance 0, 1, ..., as shares of that at 0.

    Of sinusoidal encodings (AIAYN section 3.5), and the same of two vectors of ones after rotation
    (Su et al. 2021): the mean of cos(distance / 10000^(2i/width)) over i.
    """
    encodings = sinusoids(POSITIONS, width).numpy()
    return encodings @ encodings[0] / (encodings[0] @ encodings[0])
