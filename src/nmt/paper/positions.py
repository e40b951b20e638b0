"""The figure of positions: sinusoids, and beside them rotary, ALiBi and learned ones.

Formulas are here once more, without torch, which takes longer to load than the figure to draw.
"""

import math

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nmt.configuration import SelfAttention
from nmt.paper.drawing import (
    COLORS,
    DASHES,
    PAGE,
    Drawing,
    Picture,
    new_figure,
    nothing,
)
from nmt.paper.heatmaps import heat_map
from nmt.paper.results import find_runs

POSITIONS = 100
# Few sentences are longer, so that later positions are hardly learned.
LEARNED_POSITIONS = 40
# At most this many heads of ALiBi are drawn: more lines would hide each other.
MOST_HEADS = 8


def positional_encodings(drawing: Drawing) -> Picture:
    """Draw sinusoids, and how positions at a distance compare in the other kinds of positions.

    Widths are those of the table's first Transformer; formulas need no run. Learned positions are
    drawn where a row of the table that has them is trained.
    """
    rows = drawing.catalog.experiments
    models = {name: rows[name].model for name in drawing.table.experiments if name in rows}
    widths = [(name, model) for name, model in models.items() if isinstance(model, SelfAttention)]
    if not widths:
        return nothing("No row of this table has self-attention.")
    name, model = widths[0]
    d_k = model.d_k or model.d_model // model.heads
    encodings = sinusoids(model.d_model)
    products = {
        f"sinusoids, d_model {model.d_model}": mean_cosine(model.d_model),
        f"rotary, d_k {d_k}": mean_cosine(d_k),
    }
    learned = learned_positions(drawing)
    if learned is not None:
        similarity, title = learned
        means = [np.diagonal(similarity, k).mean() for k in range(len(similarity) - 1)]
        products[f"learned: {title}"] = np.array(means)
    slopes = alibi_slopes(model.heads)[:MOST_HEADS]

    figure = new_figure(PAGE, 2.4)
    grid = figure.subplots(1, 3 if learned is None else 4)
    image = heat_map(grid[0], encodings.T, "RdBu_r", (-1, 1), aspect="auto")
    grid[0].set(title="sinusoids", xlabel="position")
    grid[0].set_ylabel("dimension\n(even: sine, odd: cosine)")
    figure.colorbar(image, ax=grid[0], ticks=(-1, 0, 1), aspect=25, pad=0.02)
    draw_products(grid[1], products)
    draw_alibi(grid[2], slopes)
    if learned is not None:
        image = heat_map(grid[3], similarity, "RdBu_r", (-1, 1), aspect="equal")
        grid[3].set(title="learned: cosines", xlabel="position", ylabel="position")
        figure.colorbar(image, ax=grid[3], ticks=(-1, 0, 1), aspect=25, pad=0.02)
    note = f"d_model {model.d_model} and {model.heads} heads, as {rows[name].title} has them"
    return Picture(figure, position_data(encodings, products, slopes), note=note)


def sinusoids(d_model: int) -> np.ndarray:
    """Return the encodings of AIAYN section 3.5, (POSITIONS, D): sines and cosines in turn."""
    angle = np.arange(POSITIONS)[:, None] / 10000.0 ** (np.arange(0, d_model, 2) / d_model)
    return np.stack([np.sin(angle), np.cos(angle)], axis=-1).reshape(POSITIONS, -1)


def mean_cosine(width: int) -> np.ndarray:
    """Return the mean of cos(k / 10000^(2i/width)) over i, for k = 0, 1, ...

    It is the product of two sinusoidal encodings at distance k (AIAYN section 3.5), and that of two
    vectors of ones after rotation by k (Su et al. 2021), as shares of those at distance 0.
    """
    frequency = 10000.0 ** (-np.arange(0, width, 2) / width)
    return np.cos(np.arange(POSITIONS)[:, None] * frequency).mean(1)


def alibi_slopes(heads: int) -> list[float]:
    """Return each head's slope (Press et al. 2022): 2^(-8/H), 2^(-16/H) and so on.

    Where H is no power of two, those of the power below, then every second one of the power above.
    """
    power = 2 ** int(math.log2(heads))
    slopes = [2.0 ** (-8 * number / power) for number in range(1, power + 1)]
    between = [2.0 ** (-4 * number / power) for number in range(1, 2 * power + 1, 2)]
    return (slopes + between)[:heads]


def learned_positions(drawing: Drawing) -> tuple[np.ndarray, str] | None:
    """Return the cosines between the first learned positions of a trained row, and its title.

    None where no row with learned positions has a model.
    """
    for run in find_runs(
        drawing.files, drawing.reproduction, drawing.catalog, drawing.table.experiments
    ):
        path = drawing.files.folder / run.folder / "model" / "model.safetensors"
        model = None if run.members else drawing.catalog.experiment(run.experiment).model
        if getattr(model, "positions", "") == "learned" and path.exists():
            from safetensors.numpy import load_file

            tensors = load_file(path)
            name = next(name for name in tensors if name.endswith("positions.table"))
            table = tensors[name][:LEARNED_POSITIONS].astype(np.float32)
            unit = table / np.linalg.norm(table, axis=1, keepdims=True)
            return unit @ unit.T, drawing.title(run.experiment)
    return None


def draw_products(axes: Axes, products: dict[str, np.ndarray]) -> None:
    """Draw the products of positions against their distance."""
    for number, (label, values) in enumerate(products.items()):
        axes.plot(values, color=COLORS[number], linestyle=DASHES[number], label=label)
    axes.axhline(0, color="#999999", linewidth=0.5)
    axes.set(title="dot products", xlabel="distance", ylabel="share of that at distance 0")
    axes.legend(loc="upper right")


def draw_alibi(axes: Axes, slopes: list[float]) -> None:
    """Draw what ALiBi adds to the scores of each head."""
    for number, slope in enumerate(slopes):
        values = -slope * np.arange(POSITIONS)
        color, dashes = COLORS[number % len(COLORS)], DASHES[number % len(DASHES)]
        axes.plot(values, color=color, linestyle=dashes, label=str(number + 1))
    axes.set(title="ALiBi", xlabel="distance", ylabel="added to the score", ylim=(-20, 0.5))
    axes.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, -0.22),
        ncols=4,
        title="head",
        columnspacing=1,
        handlelength=1.6,
    )


def position_data(
    encodings: np.ndarray, products: dict[str, np.ndarray], slopes: list[float]
) -> pd.DataFrame:
    """Return a line for each cell of the heat map and each point of the curves."""
    cells = [
        ("sinusoids", f"dimension {dimension}", position, value)
        for (position, dimension), value in np.ndenumerate(encodings)
    ]
    points = [
        ("dot products", label, distance, value)
        for label, values in products.items()
        for distance, value in enumerate(values)
    ]
    scores = [
        ("ALiBi", f"head {number}", distance, -slope * distance)
        for number, slope in enumerate(slopes, start=1)
        for distance in range(POSITIONS)
    ]
    columns = ["panel", "curve", "position_or_distance", "value"]
    return pd.DataFrame(cells + points + scores, columns=columns)
