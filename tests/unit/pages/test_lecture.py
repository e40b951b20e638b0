"""The numbers on the page of a lecture, and the page in a browser."""

import json

import pytest
import torch

from nmt.data.batch import pad_sources
from nmt.data.sequences import Sequences
from nmt.decoding.search import search
from nmt.decoding.translator import length_limits
from nmt.files import write_json
from nmt.models.positions import sinusoids
from nmt.models.protocol import BOS, EOS
from nmt.pages.lecture import masks, saturation, shift_matrix
from nmt.serving.folder import TranslationModel
from tests.support import paper_runs, tiny_models
from tests.support.browser import DESKTOP, PHONE, opened

FAMILIES = ("transformer", "decoder-only")


@pytest.fixture(scope="module")
def arguments(tmp_path_factory, root):
    """Those of lecture.py, with made-up runs, but for the models, which are in --runs too."""
    made = tmp_path_factory.mktemp("lecture")
    reproduction = paper_runs.reproduction((1,), experiments=["demo-transformer"])
    paper_runs.make_runs(made, root, reproduction)
    write_json(made / "reproduction.json", reproduction.model_dump(exclude={"mirror"}))
    for family in FAMILIES:
        tiny_models.make_model(made / "runs", family)
    paths = {"reproduction": "reproduction.json", "runs": "runs", "tokens": "runs/tokens"}
    return {name: made / path for name, path in (paths | {"output": "out/lecture.html"}).items()}


def run(run_script, arguments, *families):
    options = [item for name, path in arguments.items() for item in (f"--{name}", path)]
    models = [arguments["runs"] / family for family in families]
    return run_script("lecture", "--threads=1", *options, "--model", *models)


@pytest.fixture(scope="module")
def page_file(arguments, run_script):
    process = run(run_script, arguments, *FAMILIES)
    assert process.returncode == 0, process.stderr
    return arguments["output"]


@pytest.fixture(scope="module")
def models(arguments):
    return [TranslationModel(arguments["runs"] / family) for family in FAMILIES]


@pytest.fixture(scope="module")
def shown(page_file):
    """The numbers that are in the page."""
    text = page_file.read_text(encoding="utf-8").partition('id="data">')[2]
    return json.loads(text.partition("</script>")[0])


@pytest.mark.parametrize("width", [16, 512])
def test_a_shift_is_a_rotation_and_the_only_matrix_that_fits(width):
    matrix = shift_matrix(3, width).double()
    encodings = sinusoids(2000, width).double()
    assert torch.allclose(encodings[:-3] @ matrix.T, encodings[3:], atol=1e-5)
    assert torch.allclose(matrix @ matrix.T, torch.eye(width, dtype=torch.float64), atol=1e-6)
    if width == 16:
        fitted = torch.linalg.lstsq(encodings[:-3], encodings[3:]).solution.T
        assert torch.allclose(matrix, fitted, atol=1e-4)


def test_masks_hide_padding_and_the_future():
    cells = {kind: torch.tensor(mask["cells"]) for kind, mask in masks().items()}
    assert cells["padding"][:4].tolist() == [[1, 1, 1, 1, 0, 0]] * 4
    assert cells["cross"].tolist() == [[1, 1, 1, 1, 0, 0]] * 4
    assert cells["causal"].equal(torch.ones(4, 4).tril().double())
    assert cells["decoder-only"].equal(torch.ones(9, 9).tril().double())
    prefix = torch.ones(9, 9).tril()
    prefix[:5, :5] = 1
    assert cells["prefix"].equal(prefix.double())


def test_the_scale_keeps_the_variance_and_the_gradient():
    unscaled, scaled = saturation().values()
    for wide, narrow in zip(unscaled, scaled, strict=True):
        assert wide["variance"] == pytest.approx(wide["width"], rel=0.1)
        assert narrow["variance"] == pytest.approx(1, rel=0.1)
    assert unscaled[-1]["gradient"] < 0.3 * scaled[-1]["gradient"]


def test_weights_are_those_of_the_model_and_sum_to_one(shown, models):
    """Of the decoder-only model too, whose tags and target have their share."""
    of_transformer, of_decoder_only = shown["models"]
    recorded = dict(of_transformer["weights"])
    model = models[0]
    source = pad_sources(model.encode([of_transformer["sentence"]]))
    target = model.subwords.target.processor.piece_to_id(of_transformer["target"][:-1])
    target_in = Sequences.of(torch.tensor([[BOS, *target]]))
    own = model.single.self_attention(source, target_in)
    kinds = {
        "encoder.{}.self_attention": own["encoder"],
        "decoder.{}.self_attention": own["decoder"],
        "decoder.{}.cross_attention": model.single.attention(source, target_in),
    }
    for kind, maps in kinds.items():
        for layer, weights in enumerate(maps.values()):
            shown_weights = torch.tensor(recorded.pop(kind.format(layer)))
            assert torch.allclose(shown_weights, weights[0], atol=1e-3)
    assert recorded == {}
    length = 2 + len(of_decoder_only["source"]) + len(of_decoder_only["target"]) - 1
    for weights in map(torch.tensor, of_decoder_only["weights"].values()):
        assert weights.shape[1:] == (length, length)
        assert weights.triu(1).eq(0).all()
        assert torch.allclose(weights.sum(-1), torch.ones(()), atol=0.01)


def test_the_tree_leads_to_what_the_search_finds(shown, models):
    for model, passed in zip(models, shown["models"], strict=True):
        tokens = model.encode([passed["sentence"]])
        decoding = model.experiment.decoding
        limits = length_limits(model.model, tokens, [0], decoding)
        ((best,),) = search(model.model, pad_sources(tokens), limits, decoding)
        ends = [
            (node["score"], step, node)
            for step, nodes in enumerate(passed["tree"])
            for node in nodes
            if node["score"] is not None
        ]
        score, step, node = max(ends, key=lambda end: end[0])
        assert (score, node["log_prob"]) == pytest.approx((best.score, best.log_prob))
        pieces = [node["piece"]]
        for nodes in passed["tree"][:step][::-1]:
            node = nodes[node["parent"]]
            pieces.insert(0, node["piece"])
        assert pieces == model.subwords.target.pieces([*best.tokens, EOS]) == passed["target"]


def test_only_batch_norm_mixes_sentences(shown):
    changes = shown["norms"]["changes"]
    assert changes["layer"] < 1e-5 < 0.1 < min(changes["batch"], changes["padded"])


@pytest.mark.parametrize("width", [DESKTOP, PHONE])
def test_arrows_lead_through_all_pictures(browser, page_file, width, root):
    with opened(browser, page_file.as_uri(), width) as page:
        named = page.locator("section code").all_inner_texts()
        assert [name for name in named if not (root / name).exists()] == []
        pictures = page.locator("section.picture").all()
        assert page.locator("#contents a").count() == len(pictures) > 12
        for picture in pictures:
            page.keyboard.press("ArrowRight")
            assert abs(picture.bounding_box()["y"]) < 2
            figures = picture.locator("[data-draw] figure").all()
            assert min(figure.bounding_box()["width"] for figure in figures) > 80
        page.keyboard.press("ArrowLeft")
        assert abs(pictures[-2].bounding_box()["y"]) < 2
        assert page.locator("#kind option").count() == 4  # of the decoder-only model one
        for number in range(4):
            page.locator("#kind").select_option(index=number)
            first = page.locator("[data-draw=heads]").inner_html()
            page.locator("#layer").focus()
            page.keyboard.press("ArrowRight")
            assert page.locator("[data-draw=heads] svg").count() == 4
            assert page.locator("[data-draw=heads]").inner_html() != first
            page.keyboard.press("ArrowLeft")


def test_without_a_transformer_there_is_no_lecture(arguments, run_script, tmp_path):
    output = {"output": tmp_path / "lecture.html"}
    process = run(run_script, arguments | output, "decoder-only")
    assert (process.returncode, "through a Transformer" in process.stderr) == (1, True)
    assert not output["output"].exists()
