"""The figure of positions: sinusoids, and beside them rotary, ALiBi and learned ones."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from nmt.paper.drawing import (
    COLORS,
    DASHES,
    PAGE,
    Drawing,
    Picture,
    empty_figure,
    finish,
    new_figure,
)
from nmt.paper.heatmaps import heat_map
from nmt.paper.results import Run, find_runs

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
    # Imported here because torch takes seconds to load, and few figures need it.
    from nmt.models.position_bias import alibi_slopes
    from nmt.models.positions import sinusoids

    name = first_self_attention(drawing)
    if name is None:
        return empty_figure(drawing, "No row of this table has self-attention.")
    settings = drawing.catalog.experiments[name].model.table3_settings
    d_model, d_k, heads = (int(settings[key]) for key in ("d_model", "d_k", "heads"))
    encodings = sinusoids(POSITIONS, d_model).numpy()
    products = {
        f"sinusoids, d_model {d_model}": mean_cosine(d_model),
        f"rotary, d_k {d_k}": mean_cosine(d_k),
    }
    learned = learned_positions(drawing)
    if learned is not None:
        similarity, title = learned
        products[f"learned: {title}"] = mean_diagonals(similarity)
    slopes = np.array(alibi_slopes(heads))

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
    corpus = drawing.catalog.corpus(drawing.reproduction.corpus).title
    note = (
        f"AIAYN section 3.5 with d_model = {d_model}, as {drawing.catalog.rows[name].title}"
        " has it, Su et al. 2021 and Press et al. 2022 with its heads. Products: of the encodings"
        " of two positions, or of two vectors of ones that are rotated, as a share of that at"
        " distance 0; of learned positions the mean over pairs of positions."
    )
    if learned is None:
        note += " Formulas: no split, no seed."
    figure = finish(figure, f"{corpus}. {note}")
    return Picture(figure, position_data(encodings, products, slopes))


def first_self_attention(drawing: Drawing) -> str | None:
    """Return the table's first experiment with self-attention; None where none has any."""
    experiments = drawing.catalog.experiments
    for name in drawing.table.experiments:
        if name in experiments and experiments[name].model.table3_settings:
            return name
    return None


def mean_cosine(width: int) -> np.ndarray:
    """Return the mean of cos(k / 10000^(2i/width)) over i, for k = 0, 1, ...

    It is the product of two sinusoidal encodings at distance k (AIAYN section 3.5), and that of two
    vectors of ones after rotation by k (Su et al. 2021), as shares of those at distance 0.
    """
    frequency = 10000.0 ** (-np.arange(0, width, 2) / width)
    return np.cos(np.arange(POSITIONS)[:, None] * frequency).mean(1)


def learned_positions(drawing: Drawing) -> tuple[np.ndarray, str] | None:
    """Return the cosines between the first learned positions of a trained row, and its title.

    None where no row with learned positions has a model.
    """
    from nmt.models.weights import load_tensors

    runs = runs_with_learned_positions(drawing)
    if not runs:
        return None
    tensors, _ = load_tensors(runs[0].folder / "model" / "model.safetensors")
    name = next(name for name in tensors if name.endswith("positions.table"))
    table = tensors[name][:LEARNED_POSITIONS].float().numpy()
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    return unit @ unit.T, drawing.catalog.rows[runs[0].experiment].title


def runs_with_learned_positions(drawing: Drawing) -> list[Run]:
    """Return the runs of the table's rows with learned positions that have a model."""
    rows = drawing.catalog.with_learned_positions(drawing.table.experiments)
    runs = find_runs(drawing.folder, drawing.reproduction, drawing.catalog, rows)
    return [run for run in runs if run.has("model/model.safetensors")]


def mean_diagonals(similarity: np.ndarray) -> np.ndarray:
    """Return the mean of each diagonal at and above the main one, by distance."""
    return np.array([np.diagonal(similarity, k).mean() for k in range(len(similarity) - 1)])


def draw_products(axes: Axes, products: dict[str, np.ndarray]) -> None:
    """Draw the products of positions against their distance."""
    for number, (label, values) in enumerate(products.items()):
        axes.plot(values, color=COLORS[number], linestyle=DASHES[number], label=label)
    axes.axhline(0, color="#999999", linewidth=0.5)
    axes.set(title="dot products", xlabel="distance", ylabel="share of that at distance 0")
    axes.legend(loc="upper right")


def draw_alibi(axes: Axes, slopes: np.ndarray) -> None:
    """Draw what ALiBi adds to the scores of each head."""
    for number, slope in enumerate(slopes[:MOST_HEADS]):
        axes.plot(
            -slope * np.arange(POSITIONS),
            color=COLORS[number % len(COLORS)],
            linestyle=DASHES[number % len(DASHES)],
            label=str(number + 1),
        )
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
    encodings: np.ndarray, products: dict[str, np.ndarray], slopes: np.ndarray
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
        for number, slope in enumerate(slopes[:MOST_HEADS], start=1)
        for distance in range(POSITIONS)
    ]
    columns = ["panel", "curve", "position_or_distance", "value"]
    return pd.DataFrame(cells + points + scores, columns=columns)
