"""Figures: what they show, read from what was drawn."""

import json
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from support import paper_runs

from nmt.configuration import Table
from nmt.files import write_lines
from nmt.paper.drawing import STYLE, Drawing, save
from nmt.paper.figures import FIGURES, bucket_label, draw

ROWS = ("demo-rnnencdec", "demo-rnnsearch", "demo-transformer")
TITLES = ["RNN without attention", "RNN with attention", "Transformer"]


@pytest.fixture
def made(tmp_path, root):
    """Return made(seeds, rows, corpus), which makes up runs and returns a Drawing of them."""

    def make(seeds=(1, 2), rows=ROWS, corpus="demo"):
        table = Table(title="A table", experiments=list(rows), split="test", metrics=["bleu"])
        reproduction = paper_runs.reproduction(seeds, corpus, systems=table)
        catalog = paper_runs.make_runs(tmp_path, root, reproduction)
        return Drawing(reproduction, catalog, table, tmp_path / "runs")

    return make


def small_print(figure: Figure) -> str:
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_says_where_it_comes_from(made, name):
    text = small_print(draw(name, made()))
    assert "Generated English-German sentences of a small grammar (not a benchmark)" in text
    assert any(data in text.lower() for data in ("split", "training set", "one sentence"))
    assert "Commit" not in text
    assert "abcdef0123" not in text
    if name != "positional-encodings":
        assert ("Seed 1." if name == "attention" else "Seeds 1, 2.") in text


@pytest.mark.parametrize("name", FIGURES)
def test_nothing_leaves_the_figure_or_overlaps_the_small_print(made, name):
    figure = draw(name, made())
    canvas = FigureCanvasAgg(figure)
    with matplotlib.rc_context(STYLE):
        canvas.draw()
        renderer = canvas.get_renderer()
        artists = [*figure.texts, *figure.legends, *figure.axes]
        boxes = [artist.get_tightbbox(renderer) for artist in artists if artist.get_visible()]
    for box in boxes:
        assert box.x0 >= 0
        assert box.y0 >= 0
        assert box.x1 <= figure.bbox.x1 + 1
        assert box.y1 <= figure.bbox.y1 + 1
    foot = boxes[0]
    assert all(box.y0 >= foot.y1 - 1 for box in boxes[1:])


def test_learning_curves_have_a_line_for_each_run_and_one_label_for_each_row(made):
    drawing = made()
    figure = draw("learning-curves", drawing)
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "training loss",
        "dev perplexity",
        "dev BLEU, greedy",
    ]
    assert [len(axes.lines) for axes in figure.axes] == [6, 6, 6]
    assert legend(figure) == TITLES
    metrics = drawing.runs[0].metrics()
    points = [(line["update"], line["nll"]) for line in metrics if "nll" in line]
    assert np.allclose(figure.axes[0].lines[0].get_xydata(), points)
    perplexity = [line["dev_perplexity"] for line in metrics if "dev_perplexity" in line]
    assert np.allclose(figure.axes[1].lines[0].get_ydata(), perplexity)


def test_learning_curves_without_dev_bleu_have_no_empty_panel(made):
    drawing = made(seeds=[1])
    for path in drawing.folder.rglob("metrics.jsonl"):
        path.write_text("".join(line for line in path.open() if "dev_bleu" not in line))
    assert len(draw("learning-curves", drawing).axes) == 2


def test_a_training_of_few_updates_has_only_dev_losses(made):
    drawing = made(seeds=[1])
    for path in drawing.folder.rglob("metrics.jsonl"):
        path.write_text('{"update": 10, "dev_nll": 1.0, "dev_perplexity": 2.7}\n')
    figure = draw("learning-curves", drawing)
    assert [axes.get_ylabel() for axes in figure.axes] == ["dev perplexity"]
    assert legend(figure) == TITLES
    assert legend(draw("learning-rate", drawing)) == ["; ".join(TITLES)]


def test_a_single_point_has_a_marker(made):
    drawing = made(seeds=[1])
    for path in drawing.folder.rglob("metrics.jsonl"):
        path.write_text('{"update": 20, "nll": 1.0, "learning_rate": 0.1}\n')
    for name in ("learning-curves", "learning-rate"):
        figure = draw(name, drawing)
        markers = {line.get_marker() for axes in figure.axes for line in axes.lines}
        assert markers == {"."}


def test_dollar_signs_are_not_math(made):
    figure = draw("learning-curves", made())
    assert not any(text.get_parse_math() for text in figure.legends[0].get_texts())


def test_rows_with_the_same_learning_rate_share_a_line(made):
    figure = draw("learning-rate", made(rows=["gelu", "no-positions", "demo-rnnencdec"]))
    (axes,) = figure.axes
    assert len(axes.lines) == 2
    assert legend(figure) == ["GELU; No positions", "RNN without attention"]
    assert axes.lines[1].get_ydata().max() == pytest.approx(0.004)


def line_styles(figure: Figure) -> list[tuple[str, str]]:
    return [(line.get_color(), line.get_linestyle()) for line in figure.axes[0].lines[:3]]


def test_an_experiment_has_one_line_style_in_all_figures(made):
    drawing = made(seeds=[1])
    curves = line_styles(draw("learning-curves", drawing))
    bleu = line_styles(draw("bleu-by-length", drawing))
    assert curves == bleu
    assert len(set(curves)) == 3


def test_more_rows_than_colors_still_look_different(made):
    names = ["transformer-base", "heads-1", "heads-4", "heads-16", "heads-32"]
    names += ["keys-16", "keys-32", "layers-2", "layers-4"]
    drawing = made(seeds=[1], rows=names, corpus="wmt14-en-de")
    styles = {tuple(drawing.line_style(name).values()) for name in names}
    assert len(styles) == len(names)


def test_bleu_by_length_is_the_mean_over_seeds_with_the_number_of_sentences(made):
    drawing = made()
    figure = draw("bleu-by-length", drawing)
    (axes,) = figure.axes
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "0–9\n(100)",
        "10–19\n(90)",
        "20–95\n(80)",
    ]
    scores = [run.scores("test") for run in drawing.runs_of("demo-transformer")]
    # The last bucket is left out, because it has 4 sentences.
    bleu = [
        [bucket["bleu"] for bucket in run_scores["bleu_by_source_length"][:3]]
        for run_scores in scores
    ]
    line, _, bars = axes.containers[2]
    assert np.allclose(line.get_ydata(), np.mean(bleu, 0))
    ends = np.array([segment[:, 1] for segment in bars[0].get_segments()])
    assert np.allclose(ends[:, 1] - ends[:, 0], 2 * np.std(bleu, 0, ddof=1))


def test_rows_without_capitals_are_drawn_without_case(made):
    drawing = made(
        seeds=[1], rows=["transformer-tiny", "transformer-tiny-raw"], corpus="multi30k-en-de"
    )
    (axes,) = draw("bleu-by-length", drawing).axes
    assert axes.get_ylabel() == "BLEU (sacreBLEU, lower-cased)"
    for run, (line, *_) in zip(drawing.runs, axes.containers, strict=True):
        buckets = run.scores("test")["bleu_by_source_length"]
        assert line.get_ydata().tolist() == [bucket["lowercased_bleu"] for bucket in buckets[:3]]
    curves = draw("learning-curves", drawing)
    assert "takes no account of case for: Transformer-Tiny." in small_print(curves)
    for run in drawing.runs:
        lines = [line for line in run.metrics() if "dev_bleu" not in line]
        write_lines(run.folder / "metrics.jsonl", map(json.dumps, lines))
    assert "BLEU" not in small_print(draw("learning-curves", drawing))


def test_seeds_that_stop_early_share_a_line_of_the_learning_rate(made):
    drawing = made(rows=["demo-transformer"])
    run = drawing.runs[1]
    lines = run.metrics()
    write_lines(run.folder / "metrics.jsonl", map(json.dumps, lines[: len(lines) // 2]))
    (axes,) = draw("learning-rate", drawing).axes
    (line,) = axes.lines
    metrics = drawing.runs[0].metrics()
    rates = [entry["learning_rate"] for entry in metrics if "learning_rate" in entry]
    assert line.get_ydata().tolist() == rates


def test_the_last_bucket_is_open():
    assert bucket_label({"from": 50, "to": None, "sentences": 12, "bleu": 1.0}) == "50+\n(12)"
    assert bucket_label({"from": 40, "to": 50, "sentences": 12, "bleu": 1.0}) == "40–49\n(12)"


def images(figure: Figure) -> dict[str, AxesImage]:
    return {axes.get_title(): axes.images[0] for axes in figure.axes if axes.images}


def test_attention_is_that_of_the_last_layer(made):
    drawing = made(seeds=[2, 1])
    figure = draw("attention", drawing)
    assert "Seed 2." in small_print(figure)
    drawn = images(figure)
    assert list(drawn) == [
        "RNN with attention",
        "Transformer, layer 2: mean of 4 heads",
        "Transformer, layer 2: head 1",
        "Transformer, layer 2: head 2",
    ]
    (run,) = [run for run in drawing.runs_of("demo-transformer") if run.seed == 2]
    heads = np.array(run.attention()["maps"]["layer 2"])
    assert np.allclose(drawn["Transformer, layer 2: mean of 4 heads"].get_array(), heads.mean(0))
    assert np.allclose(drawn["Transformer, layer 2: head 2"].get_array(), heads[1])
    axes = drawn["RNN with attention"].axes
    source = [label.get_text() for label in axes.get_xticklabels()]
    target = [label.get_text() for label in axes.get_yticklabels()]
    assert source == ["_the", "_old", "_man", "_sle", "eps", "_.", "</s>"]
    assert target == ["_der", "_alte", "_Mann", "_schläft", "_.", "</s>"]


def test_of_many_rows_the_mean_of_heads_alone_is_drawn(made):
    rows = [*ROWS, "gelu", "pre-norm", "no-positions"]
    drawn = images(draw("attention", made(seeds=[1], rows=rows)))
    assert len(drawn) == 5
    assert not any("head 1" in title for title in drawn)


@pytest.mark.parametrize(
    ("name", "kind"), [("attention", "attention"), ("positional-encodings", "sinusoids")]
)
def test_where_there_is_nothing_to_draw_the_figure_says_so(made, name, kind):
    figure = draw(name, made(rows=["demo-rnnencdec"]))
    assert f"No row of this table has {kind}." in [text.get_text() for text in figure.texts]


def test_sinusoids_are_those_of_the_first_transformer_that_has_them(made):
    rows = ["demo-rnnencdec", "learned-positions", "demo-transformer"]
    figure = draw("positional-encodings", made(rows=rows))
    assert "d_model = 128" in small_print(figure)
    matrix = figure.axes[0].images[0].get_array()
    assert matrix.shape == (128, 100)  # (dimensions, positions)
    assert matrix[16, 7] == pytest.approx(np.sin(7 / 10000 ** (16 / 128)), abs=1e-6)
    assert matrix[17, 7] == pytest.approx(np.cos(7 / 10000 ** (16 / 128)), abs=1e-6)
    labels = [line.get_label() for line in figure.axes[1].lines]
    assert labels == ["dimension 16", "dimension 17", "dimension 32", "dimension 33"]


def test_positional_encodings_need_no_run(made, tmp_path):
    drawing = made()
    without_runs = replace(drawing, folder=tmp_path / "no")
    assert draw("positional-encodings", without_runs)


def test_files_are_the_same_every_time_with_fonts_inside_and_no_time(made, tmp_path):
    drawing = made()
    for number in (1, 2):
        figure = draw("learning-rate", drawing)
        save(figure, tmp_path / f"{number}.pdf", tmp_path / f"{number}.png", "Commit 1a2b3c")
    for form in ("pdf", "png"):
        assert (tmp_path / f"1.{form}").read_bytes() == (tmp_path / f"2.{form}").read_bytes()
    pdf = (tmp_path / "1.pdf").read_bytes()
    assert b"/CreationDate" not in pdf
    assert b"/FontFile2" in pdf  # TrueType
    assert b"/Type3" not in pdf
