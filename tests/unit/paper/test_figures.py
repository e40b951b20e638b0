"""Figures: what they show, read from what was drawn."""

import itertools
import json
import shutil
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from nmt.configuration import Ensemble, read_reproduction
from nmt.files import write_json, write_lines
from nmt.paper import drawing as drawings
from nmt.paper.drawing import STYLE, Drawing, save
from nmt.paper.figures import FIGURES
from nmt.paper.heads import LEAST_WEIGHT
from nmt.paper.heatmaps import CROSS, recorded
from nmt.paper.results import RunFiles
from tests.support.files import ROOT

ROWS = ("demo-rnnencdec", "demo-rnnsearch", "demo-transformer")
TITLES = ["RNN without attention", "RNN with attention", "Transformer"]


@pytest.fixture
def made(made):
    """Return made(seeds, rows, corpus), which makes up runs and returns a Drawing of them."""

    def make(seeds=(1, 2), rows=ROWS, corpus="demo"):
        folder, reproduction, catalog = made(seeds, corpus, experiments=list(rows))
        return Drawing(
            reproduction, catalog, reproduction.tables["systems"], RunFiles(folder / "runs")
        )

    return make


def draw(name: str, drawing: Drawing) -> Figure:
    return drawings.draw(name, drawing).figure


def small_print(figure: Figure) -> str:
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def runs_of(drawing: Drawing, row: str) -> list:
    return [run for run in drawing.runs if run.experiment == row]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_where_it_comes_from(made, name):
    drawing = made()
    text = small_print(draw(name, drawing))
    assert "Generated English-German sentences of a small grammar (not a benchmark)" in text
    if FIGURES[name].is_drawn_for(drawing.table, drawing.catalog):
        assert any(data in text.lower() for data in ("split", "training set", "one sentence"))
        has_first_seed = FIGURES[name].section == "Attention"
        assert ("Seed 1." if has_first_seed else "Seeds 1, 2.") in text


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_overlaps(made, monkeypatch, name):
    title = Drawing.title
    settings = "init=orthogonal, peak_learning_rate=0.004, updates=1500"
    monkeypatch.setattr(Drawing, "title", lambda *row: f"{title(*row)}, {settings}")
    figure = draw(name, made(rows=(*ROWS, "demo-small-luong", "demo-small-bytenet")))
    canvas = FigureCanvasAgg(figure)
    with matplotlib.rc_context(fname=STYLE):
        canvas.draw()
        renderer = canvas.get_renderer()
        visible = [axes for axes in figure.axes if axes.get_visible()]
        panels = [axes.get_tightbbox(renderer) for axes in visible]
        above = [box.get_window_extent(renderer) for box in figure.legends]
        below = figure.texts[-1].get_window_extent(renderer)
    assert all(box.y0 >= below.y1 - 1 for box in panels)
    assert all(box.y1 <= legend.y0 + 1 for box in panels for legend in above)
    for axes in visible:
        labels = [label.get_window_extent(renderer) for label in axes.get_xticklabels()]
        if labels and axes.get_xticklabels()[0].get_rotation() == 0:
            assert all(left.x1 < right.x0 for left, right in itertools.pairwise(labels))


def test_learning_curves_have_the_mean_and_a_band_against_four_axes(made):
    drawing = made()
    figure = draw("learning-curves", drawing)
    grid = np.reshape(figure.axes, (4, 4))
    assert all(len(axes.lines) == len(axes.collections) == 3 for axes in grid.flat)
    assert legend(figure) == TITLES
    runs = runs_of(drawing, "demo-rnnencdec")
    losses = [[line["nll"] for line in run.metrics() if "nll" in line] for run in runs]
    curve = grid[0, 0].lines[0]
    assert np.allclose(curve.get_xdata(), np.arange(20, 401, 20))
    assert np.allclose(curve.get_ydata(), np.mean(losses, 0))
    band = grid[0, 0].collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(np.max(losses))
    # Dev scores at update 200 are at the tokens, seconds and FLOPs of update 200.
    at_200 = [axes.lines[0].get_xdata()[1] for axes in grid[1]]
    assert at_200 == pytest.approx([200, 16_000, 50, 2e14])


def test_a_row_whose_seeds_stop_apart_ends_with_the_first(made):
    drawing = made(rows=["demo-transformer"])
    run = drawing.runs[1]
    path = drawing.files.folder / run.folder / "metrics.jsonl"
    write_lines(path, map(json.dumps, run.metrics()[:5]))
    data = drawings.draw("learning-curves", drawing).data
    assert data[data.metric == "nll"]["update"].max() == 100
    assert set(data.seeds) == {2}


@pytest.mark.parametrize("perplexity", [2.7, float("inf")])
def test_a_training_of_few_updates_has_only_dev_losses(made, tmp_path, perplexity):
    drawing = made(seeds=[1])
    line = {"update": 10, "dev_nll": 1.0, "dev_perplexity": perplexity}
    for path in drawing.files.folder.rglob("metrics.jsonl"):
        write_lines(path, [json.dumps(line)])
    picture = drawings.draw("learning-curves", drawing)
    figure = picture.figure
    assert [axes.get_xlabel() for axes in figure.axes] == ["updates"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["dev perplexity"]
    assert legend(figure) == TITLES
    save(picture, tmp_path / "pdf", tmp_path / "png")


@pytest.mark.parametrize("name", ["learning-curves", "bleu-by-length", "cost"])
def test_the_data_are_what_is_drawn(made, name):
    """Every number of the data is on a line or a marker."""
    picture = drawings.draw(name, made())
    drawn = {
        round(float(y), 6)
        for axes in picture.figure.axes
        for line in axes.lines
        for y in line.get_ydata()
    }
    column = "mean" if name == "learning-curves" else "bleu"
    values = {round(float(value), 6) for value in picture.data[column]}
    assert values <= drawn


@pytest.mark.parametrize("name", [name for name in FIGURES if FIGURES[name].of_table])
def test_a_table_of_ensembles_alone_is_drawn(made, name):
    drawing = made(rows=["demo-transformer"])
    ensemble = Ensemble(title="Both", members={"demo-transformer": (1, 2)})
    scores = drawing.files.folder / "demo" / "both" / "ensemble" / "test.scores.json"
    write_json(scores, drawing.runs[0].read("test.scores.json"))
    of_ensembles = replace(
        drawing,
        catalog=replace(drawing.catalog, ensembles={"both": ensemble}),
        table=drawing.table.model_copy(update={"experiments": ["both"]}),
    )
    assert len(drawings.draw(name, of_ensembles).data) > 0


def test_figures_leave_out_what_was_not_run(made):
    drawing = made(seeds=[1])
    folder = drawing.files.folder / "demo"
    (folder / "demo-rnnsearch" / "seed-1" / "training.json").unlink()
    for name in ("learning-curves", "bleu-by-length", "cost"):
        figure = draw(name, drawing)
        assert legend(figure) == ["RNN without attention", "Transformer"]


def test_a_training_that_rows_share_is_drawn_once(made):
    drawing = made(rows=["demo-transformer", "demo-rnnsearch"])
    rows = ["demo-transformer", "demo-transformer+beam-8", "demo-rnnsearch"]
    table = drawing.table.model_copy(update={"experiments": rows})
    shared = replace(drawing, table=table, catalog=drawing.catalog.with_rows(rows))
    picture = drawings.draw("learning-curves", shared)
    assert list(picture.data.experiment.unique()) == ["demo-transformer", "demo-rnnsearch"]
    assert "share a training" in small_print(picture.figure)
    assert "share a training" not in small_print(draw("learning-curves", drawing))


def test_self_attention_is_drawn_as_lines_of_the_weights(made):
    drawing = made(seeds=[1])
    (run,) = runs_of(drawing, "demo-transformer")
    heads = recorded(run).maps["encoder self-attention"]["layer 1"]
    data = drawings.draw("encoder-self-attention", drawing).data
    for head, lines in data.groupby("head"):
        weights = heads[head - 1]
        assert np.allclose(lines.weight, weights[weights >= LEAST_WEIGHT])
        assert np.allclose(lines.weight, weights[lines.query_position, lines.key_position])


def test_attention_is_the_mean_of_heads_of_the_last_layer(made):
    drawing = made(seeds=[2, 1])
    figure = draw("attention", drawing)
    assert "Seed 2." in small_print(figure)
    drawn = {axes.get_title(): axes.images[0] for axes in figure.axes if axes.images}
    expected = {"RNN with attention": ("demo-rnnsearch", "attention")}
    expected["Transformer, layer 2: mean of 4 heads"] = ("demo-transformer", "layer 2")
    assert drawn.keys() == expected.keys()
    for title, (row, layer) in expected.items():
        run = next(run for run in runs_of(drawing, row) if run.seed == 2)
        assert np.allclose(drawn[title].get_array(), recorded(run).maps[CROSS][layer].mean(0))
    source = [label.get_text() for label in drawn["RNN with attention"].axes.get_xticklabels()]
    assert source == ["_the", "_old", "_man", "_sle", "eps", "_.", "</s>"]


def test_where_there_is_nothing_to_draw_no_figure_is_made(made):
    of_attention = {name for name in FIGURES if FIGURES[name].section == "Attention"}
    for row, missing in {
        "demo-transformer": {"differences"},
        "demo-rnnsearch": {*of_attention, "differences"} - {"attention"},
        "demo-rnnencdec": {*of_attention, "differences"},
    }.items():
        drawing = made(rows=[row], seeds=[1])
        shutil.rmtree(drawing.files.folder.parent)
        assert {
            name
            for name, figure in FIGURES.items()
            if not figure.is_drawn_for(drawing.table, drawing.catalog)
        } == missing
    assert "No row of this table" in draw("attention", drawing).texts[0].get_text()


def test_our_differences_to_the_base_are_drawn_against_the_papers():
    """The scaled Table 3 of docs/results."""
    reproduction, catalog = read_reproduction(ROOT / "config/multi30k-en-de.yaml", ROOT / "config")
    files = RunFiles(ROOT / "docs/results/data")
    drawing = Drawing(reproduction, catalog, reproduction.tables["table3"], files)
    picture = drawings.draw("differences", drawing)
    panels = picture.data.groupby("metric", sort=False)
    for axes, (_, rows) in zip(picture.figure.axes, panels, strict=True):
        drawn = np.concatenate([part.get_offsets() for part in axes.collections[:2]])
        assert sorted(map(tuple, drawn)) == sorted(zip(rows.paper, rows.ours, strict=True))
        assert len(rows) == 17
        products = (rows.paper * rows.ours).round(9)
        title = axes.get_title()
        assert f"{(products > 0).sum()} of {(products != 0).sum()} " in title
        assert f"{np.corrcoef(rows.paper, rows.ours)[0, 1]:.2f}" in title


def test_bleu_by_length_is_the_mean_over_seeds_with_the_number_of_sentences(made):
    drawing = made()
    (axes,) = draw("bleu-by-length", drawing).axes
    # The last bucket is left out, because it has 4 sentences.
    labels = [label.get_text() for label in axes.get_xticklabels()]
    assert labels == ["0–9\n(100)", "10–19\n(90)", "20–95\n(80)"]
    scores = [run.read("test.scores.json") for run in runs_of(drawing, "demo-transformer")]
    bleu = [[part["bleu"] for part in score["bleu_by_source_length"][:3]] for score in scores]
    assert np.allclose(axes.lines[2].get_ydata(), np.mean(bleu, 0))
    band = axes.collections[2].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx(np.max(bleu))


def test_rows_without_capitals_are_drawn_without_case(made):
    rows = ["transformer-tiny", "transformer-tiny-raw"]
    drawing = made(seeds=[1], rows=rows, corpus="multi30k-en-de")
    figure = draw("bleu-by-length", drawing)
    assert figure.axes[0].get_ylabel() == "BLEU (sacreBLEU, lower-cased)"
    skill = drawing.runs[0].read("test.scores.json")["lowercased_bleu"]["score"]
    assert list(figure.axes[0].lines[0].get_ydata()) == [skill] * 3
    assert "no account of case" in small_print(draw("learning-curves", drawing))
