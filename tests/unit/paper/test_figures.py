"""Figures: what they show, read from what was drawn."""

import itertools
import json
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import AxesImage

from nmt.configuration import Ensemble, Table
from nmt.files import write_json, write_lines
from nmt.models.weights import save_tensors
from nmt.paper import figures
from nmt.paper.comparisons import bucket_label
from nmt.paper.drawing import STYLE, Drawing, save
from nmt.paper.figures import FIGURES, TABLE_FIGURES
from nmt.paper.heads import LEAST_WEIGHT, farthest_looking, role_panels
from nmt.paper.heatmaps import AttentionPanel, attention_figure
from tests.support import paper_runs

ROWS = ("demo-rnnencdec", "demo-rnnsearch", "demo-transformer")
# Stacks of ten layers, and with another setting long titles
DEEP_ROWS = (*ROWS, "demo-small-luong", "demo-small-bytenet", "demo-small-decoder-only")
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


def draw(name: str, drawing: Drawing) -> Figure:
    return figures.draw(name, drawing).figure


def small_print(figure: Figure) -> str:
    return " ".join(" ".join(text.get_text() for text in figure.texts).split())


def legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_the_cost_of_layers_says_where_it_was_measured(made):
    text = small_print(draw("layers", made()))
    assert "made-up CPU, threads: 1" in text
    assert "Commit" not in text


@pytest.mark.parametrize("name", [name for name in FIGURES if name != "layers"])
def test_every_figure_says_where_it_comes_from(made, name):
    text = small_print(draw(name, made()))
    assert "Generated English-German sentences of a small grammar (not a benchmark)" in text
    assert any(data in text.lower() for data in ("split", "training set", "one sentence"))
    assert "Commit" not in text
    assert "abcdef0123" not in text
    if name != "positional-encodings":
        has_first_seed = "attention" in name or name == "alignment"
        assert ("Seed 1." if has_first_seed else "Seeds 1, 2.") in text


@pytest.mark.parametrize("rows", [ROWS, DEEP_ROWS], ids=["few", "deep"])
@pytest.mark.parametrize("name", FIGURES)
def test_nothing_leaves_the_figure_or_overlaps(made, monkeypatch, name, rows):
    if rows == DEEP_ROWS:
        title = Drawing.title
        settings = "init=orthogonal, peak_learning_rate=0.004, updates=1500"
        monkeypatch.setattr(Drawing, "title", lambda *row: f"{title(*row)}, {settings}")
    figure = draw(name, made(rows=rows))
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
    for axes in figure.axes:
        labels = [label.get_window_extent(renderer) for label in axes.get_xticklabels()]
        if labels and axes.get_xticklabels()[0].get_rotation() == 0:
            assert all(left.x1 < right.x0 for left, right in itertools.pairwise(labels))


def test_learning_curves_have_the_mean_and_a_band_against_four_axes(made):
    drawing = made()
    picture = figures.draw("learning-curves", drawing)
    grid = np.reshape(picture.figure.axes, (3, 4))
    assert [axes.get_ylabel() for axes in grid[:, 0]] == [
        "training loss (nats)",
        "dev perplexity",
        "dev BLEU, greedy",
    ]
    assert [axes.get_xlabel() for axes in grid[-1]] == [
        "updates",
        "target tokens",
        "device-seconds",
        "training FLOPs",
    ]
    assert all(len(axes.lines) == len(axes.collections) == 3 for axes in grid.flat)
    assert legend(picture.figure) == TITLES
    runs = drawing.runs_of("demo-rnnencdec")
    losses = [[line["nll"] for line in run.metrics() if "nll" in line] for run in runs]
    curve = grid[0, 0].lines[0]
    assert np.allclose(curve.get_xdata(), np.arange(20, 401, 20))
    assert np.allclose(curve.get_ydata(), np.mean(losses, 0))
    band = grid[0, 0].collections[0].get_paths()[0].vertices[:, 1]
    assert band.max() == pytest.approx((np.mean(losses, 0) + np.std(losses, 0, ddof=1)).max())
    # Dev scores at update 200 are at the tokens, seconds and FLOPs of update 200.
    at_200 = [axes.lines[0].get_xdata()[1] for axes in grid[1]]
    assert at_200 == pytest.approx([200, 16_000, 50, 2e14])


def test_a_row_whose_seeds_stop_apart_ends_with_the_first(made):
    drawing = made(rows=["demo-transformer"])
    run = drawing.runs[1]
    write_lines(run.folder / "metrics.jsonl", map(json.dumps, run.metrics()[:5]))
    data = figures.draw("learning-curves", drawing).data
    assert data[data.metric == "nll"]["update"].max() == 100
    assert set(data.seeds) == {2}


def test_learning_curves_without_dev_bleu_have_no_empty_panel(made):
    drawing = made(seeds=[1])
    for path in drawing.folder.rglob("metrics.jsonl"):
        path.write_text("".join(line for line in path.open() if "dev_bleu" not in line))
    assert len(draw("learning-curves", drawing).axes) == 2 * 4


def test_learning_curves_of_trainings_that_diverged_at_once_are_drawn(made, tmp_path):
    drawing = made(seeds=[1])
    for path in drawing.folder.rglob("metrics.jsonl"):
        path.write_text('{"update": 10, "dev_nll": 1e3, "dev_perplexity": Infinity}\n')
    save(draw("learning-curves", drawing), tmp_path / "pdf", tmp_path / "png", "")


def test_a_training_of_few_updates_has_only_dev_losses(made):
    drawing = made(seeds=[1])
    for path in drawing.folder.rglob("metrics.jsonl"):
        path.write_text('{"update": 10, "dev_nll": 1.0, "dev_perplexity": 2.7}\n')
    figure = draw("learning-curves", drawing)
    assert [axes.get_xlabel() for axes in figure.axes] == ["updates"]
    assert [axes.get_ylabel() for axes in figure.axes] == ["dev perplexity"]
    assert legend(figure) == TITLES
    assert legend(draw("learning-rate", drawing)) == ["; ".join(TITLES)]


def test_a_single_point_has_a_marker(made):
    drawing = made(seeds=[1])
    for path in drawing.folder.rglob("metrics.jsonl"):
        path.write_text('{"update": 20, "nll": 1.0, "learning_rate": 0.1}\n')
    for name in ("learning-curves", "learning-rate"):
        figure = draw(name, drawing)
        lines = [line for axes in figure.axes for line in axes.lines]
        assert lines
        assert all(line.get_marker() for line in lines)
        assert all(line.get_markevery() is None for line in lines)  # a distance would leave it out


def test_the_legend_of_curves_has_the_markers_of_the_rows(made):
    drawing = made()
    handles = draw("learning-curves", drawing).legends[0].legend_handles
    assert [handle.get_marker() for handle in handles] == [*map(drawing.marker, ROWS)]


PLOTTED = (
    "learning-curves",
    "gradient-norms",
    "bleu-by-length",
    "cost",
    "parameters",
    "search",
    "subword-lengths",
)


@pytest.mark.parametrize("name", PLOTTED)
def test_the_data_are_what_is_drawn(made, name):
    """Every number of the data is on a line or a marker."""
    picture = figures.draw(name, made())
    drawn = {
        round(float(y), 6)
        for axes in picture.figure.axes
        for line in axes.lines
        for y in line.get_ydata()
    }
    columns = {"learning-curves": "mean", "subword-lengths": "share", "gradient-norms": "norm"}
    column = columns.get(name, "bleu")
    factor = 100 if name == "subword-lengths" else 1
    values = {round(factor * float(value), 6) for value in picture.data[column]}
    assert values <= drawn


def test_dev_scores_before_the_first_line_of_training_have_their_share_of_tokens(made):
    drawing = made(seeds=[1])
    lines = [
        {"update": 5, "dev_perplexity": 90.0},
        {"update": 20, "nll": 1.0, "target_tokens": 800, "flops": 4e9, "seconds": 8.0},
    ]
    for path in drawing.folder.rglob("metrics.jsonl"):
        write_lines(path, map(json.dumps, lines))
    data = figures.draw("learning-curves", drawing).data
    early = data[data.metric == "dev_perplexity"]
    assert (early[["update", "target_tokens", "flops"]] == [5, 200, 1e9]).all(axis=None)


def test_speed_is_tokens_by_device_time(made):
    picture = figures.draw("speed", made(seeds=[1]))
    assert np.allclose(picture.data.tokens_per_second, 33_000 / 91)
    bars = [bar.get_width() for bar in picture.figure.axes[0].patches]
    assert np.allclose(bars, picture.data.tokens_per_second)


@pytest.mark.parametrize("name", TABLE_FIGURES)
def test_a_table_of_ensembles_alone_is_drawn(made, name):
    drawing = made(rows=["demo-transformer"])
    ensemble = Ensemble(title="Both", members={"demo-transformer": (1, 2)})
    scores = drawing.folder / "demo" / "both" / "ensemble" / "test.scores.json"
    write_json(scores, drawing.runs[0].scores("test"))
    of_ensembles = replace(
        drawing,
        catalog=drawing.catalog.model_copy(update={"ensembles": {"both": ensemble}}),
        table=drawing.table.model_copy(update={"experiments": ["both"]}),
    )
    assert len(figures.draw(name, of_ensembles).data) > 0


def test_rows_of_one_title_have_bars_of_their_own(made, monkeypatch):
    monkeypatch.setattr(Drawing, "title", lambda *_: "RNN")
    axes = draw("speed", made()).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["RNN"] * len(ROWS)
    assert len({bar.get_y() for bar in axes.patches}) == len(ROWS)


def test_cost_is_a_point_for_each_row(made):
    drawing = made()
    picture = figures.draw("cost", drawing)
    row = picture.data.set_index("experiment").loc["demo-transformer"]
    assert row.device_hours == pytest.approx(91.5 / 3600)
    assert row.flops_6nd == 1.5e15
    scores = [run.scores("test")["bleu"]["score"] for run in drawing.runs_of("demo-transformer")]
    assert row.bleu == pytest.approx(np.mean(scores))
    assert [axes.get_xlabel() for axes in picture.figure.axes] == [
        "device-hours of training",
        "training FLOPs (6 N D + attention)",
    ]


def test_figures_leave_out_what_was_not_run_and_mark_what_is_stale(made):
    drawing = made(seeds=[1])
    folder = drawing.folder / "demo"
    (folder / "demo-rnnsearch" / "seed-1" / "training.json").unlink()
    path = folder / "demo-transformer" / "seed-1" / "training.json"
    training = json.loads(path.read_text(encoding="utf-8"))
    training["settings"]["tokens"] = "0" * 64
    path.write_text(json.dumps(training), encoding="utf-8")
    for name in ("learning-curves", "bleu-by-length", "cost"):
        figure = draw(name, drawing)
        assert legend(figure) == ["RNN without attention", "Transformer †"]
        assert "† Trained with other settings, data or code" in small_print(figure)


def test_self_attention_is_drawn_as_lines_of_the_weights(made):
    drawing = made(seeds=[1])
    (run,) = drawing.runs_of("demo-transformer")
    values = run.attention()
    for part, words in (
        ("encoder", values["source"]),
        ("decoder", ["<s>", *values["target"][:-1]]),
    ):
        data = figures.draw(f"{part}-self-attention", drawing).data
        heads = np.array(values[part]["layer 1"])
        query = farthest_looking(heads, words)
        first = data[data.panel == f"layer 1, all heads: {words[query].removeprefix('▁')}"]
        assert set(first["query"]) == {words[query]}
        for head, rows in first.groupby("head"):
            weights = heads[int(head.split()[1]) - 1][query]
            assert list(rows.weight) == [weight for weight in weights if weight >= LEAST_WEIGHT]


def test_heads_are_found_by_their_role():
    before = np.eye(6, k=-1)
    before[0, 0] = 1
    last = np.zeros((6, 6))
    last[:, -1] = 1
    other = np.full((6, 6), 0.02)
    other[:, 2] = 0.9
    panels = role_panels({"layer 1": np.array([last, other]), "layer 2": np.array([before])})
    assert [panel.title for panel in panels] == [
        "the previous subword: layer 2, head 1 (1.00)",
        "the last subword: layer 1, head 1 (1.00)",
        "another head: layer 1, head 2 (0.90)",
    ]


def test_a_head_of_two_roles_stands_for_the_stronger_one():
    both = np.zeros((4, 4))
    both[:, 0] = 0.7
    both += 0.3 * np.eye(4, k=-1)
    (panel,) = role_panels({"layer 1": both[None]})
    assert panel.title == "the first subword: layer 1, head 1 (0.80)"


def test_files_without_self_attention_are_said_to_have_none(made):
    drawing = made(seeds=[1])
    for path in drawing.folder.rglob("attention.json"):
        values = json.loads(path.read_text(encoding="utf-8"))
        del values["encoder"], values["decoder"]
        path.write_text(json.dumps(values), encoding="utf-8")
    figure = draw("encoder-self-attention", drawing)
    texts = [text.get_text() for text in figure.texts]
    assert "No row of this table has recorded encoder self-attention." in texts
    assert draw("attention", drawing)


def test_a_row_of_maps_is_as_high_as_its_longest_translation():
    panels = [AttentionPanel("any", ["a"] * 5, ["b"] * n, np.ones((n, 5))) for n in (3, 30, 4, 2)]
    figure = attention_figure(panels, 2)
    upper, lower = figure.axes[0].get_gridspec().get_height_ratios()
    assert upper > 3 * lower
    assert figure.get_figheight() == pytest.approx(upper + lower)


def test_alignment_is_that_of_the_rnn_with_attention(made):
    drawing = made(seeds=[1])
    picture = figures.draw("alignment", drawing)
    (run,) = drawing.runs_of("demo-rnnsearch")
    weights = run.attention()["maps"]["attention"][0]
    assert np.allclose(picture.figure.axes[0].images[0].get_array(), weights)
    assert np.allclose(picture.data.weight, np.ravel(weights))


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
    names += ["keys-16", "keys-32", "layers-2", "layers-4", "layers-8", "width-256", "width-1024"]
    drawing = made(seeds=[1], rows=names, corpus="wmt14-en-de")
    styles = {tuple(drawing.line_style(name).values()) for name in names}
    assert len(styles) == len(names)
    without_color = {
        (drawing.line_style(name)["linestyle"], drawing.marker(name)) for name in names
    }
    assert len(without_color) == len(names)


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


def test_without_enough_sentences_of_any_length_the_figure_says_so(made):
    drawing = made(seeds=[1], rows=["demo-transformer"])
    path = drawing.runs[0].path("scores.json", "test.")
    scores = json.loads(path.read_text(encoding="utf-8"))
    scores["bleu_by_source_length"] = scores["bleu_by_source_length"][3:]
    path.write_text(json.dumps(scores), encoding="utf-8")
    figure = draw("bleu-by-length", drawing)
    assert "No range of lengths has 10 sentences." in [text.get_text() for text in figure.texts]


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


def test_of_a_long_translation_the_first_subwords_are_drawn(made):
    drawing = made(seeds=[1])
    (run,) = drawing.runs_of("demo-rnnsearch")
    values = run.attention()
    source = len(values["source"])
    values |= {"target": ["▁der"] * 50, "maps": {"attention": [[[1 / source] * source] * 50]}}
    write_json(run.path("attention.json"), values)
    image = images(draw("attention", drawing))["RNN with attention (first 40 of 50 subwords)"]
    assert image.get_array().shape == (40, source)
    assert len(image.axes.get_yticklabels()) == 40


def test_of_many_rows_the_mean_of_heads_alone_is_drawn(made):
    rows = [*ROWS, "gelu", "pre-norm", "no-positions"]
    drawn = images(draw("attention", made(seeds=[1], rows=rows)))
    assert len(drawn) == 5
    assert not any("head 1" in title for title in drawn)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("attention", "has attention."),
        ("positional-encodings", "has self-attention."),
        ("decoder-self-attention", "has recorded decoder self-attention."),
        ("alignment", "is an RNNsearch."),
    ],
)
def test_where_there_is_nothing_to_draw_the_figure_says_so(made, name, sentence):
    figure = draw(name, made(rows=["demo-rnnencdec"]))
    assert f"No row of this table {sentence}" in [text.get_text() for text in figure.texts]


def test_positions_are_those_of_the_first_transformer(made):
    picture = figures.draw("positional-encodings", made())
    assert "d_model = 128" in small_print(picture.figure)
    matrix = picture.figure.axes[0].images[0].get_array()
    assert matrix.shape == (128, 100)  # (dimensions, positions)
    assert matrix[16, 7] == pytest.approx(np.sin(7 / 10000 ** (16 / 128)), abs=1e-6)
    assert matrix[17, 7] == pytest.approx(np.cos(7 / 10000 ** (16 / 128)), abs=1e-6)
    products = picture.figure.axes[1].lines[0].get_ydata()
    expected = [matrix[:, 0] @ matrix[:, distance] / 64 for distance in range(100)]
    assert np.allclose(products, expected, atol=1e-5)
    slopes = [-line.get_ydata()[1] for line in picture.figure.axes[2].lines]
    assert slopes == [2**-2, 2**-4, 2**-6, 2**-8]


def test_learned_positions_of_a_trained_row_stand_beside_sinusoids(made):
    drawing = made(seeds=[1], rows=["demo-transformer", "learned-positions"])
    model = drawing.folder / "demo" / "learned-positions" / "seed-1" / "model"
    model.mkdir()
    table = torch.eye(50, 60)
    save_tensors(model / "model.safetensors", {"source_positions.table": table})
    figure = draw("positional-encodings", drawing)
    labels = [line.get_label() for line in figure.axes[1].lines[:3]]
    assert labels[2] == "learned: (E) learned positions"
    assert np.allclose(figure.axes[3].images[0].get_array(), np.eye(40))


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
