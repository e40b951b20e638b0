"""All attention of a model's best translation."""

import pytest
import torch

from nmt.data.batch import pad_sources
from nmt.serving.attention import (
    CROSS,
    DECODER,
    ENCODER,
    all_attention,
    as_json,
    attend,
    cross_attention,
)
from nmt.serving.folder import TranslationModel
from tests.support import tiny_models

SENTENCE = tiny_models.SOURCE[0]


def model_of(tmp_path, family):
    return TranslationModel(tiny_models.make_model(tmp_path, family))


@pytest.mark.parametrize(
    ("family", "kinds"),
    [
        ("transformer", [CROSS, ENCODER, DECODER]),
        ("transformer-relative", [CROSS, ENCODER, DECODER]),
        ("rnnsearch", [CROSS]),
        ("luong-local", [CROSS]),
        ("decoder-only", [CROSS]),
        ("rnnencdec", []),
    ],
)
def test_kinds_and_shapes(tmp_path, family, kinds):
    model = model_of(tmp_path, family)
    attended = attend(model, SENTENCE)
    maps = all_attention(model, attended)
    assert list(maps) == kinds
    source, target = len(attended.source), len(attended.target)
    assert len(attended.inputs) == target
    shapes = {CROSS: (target, source), ENCODER: (source, source), DECODER: (target, target)}
    for kind, layers in maps.items():
        for weights in layers.values():
            assert weights.shape[1:] == shapes[kind]
            assert torch.allclose(weights.sum(-1), torch.ones(weights.shape[:2]), atol=1e-5)
        if kind == DECODER:
            assert all(weights.triu(1).eq(0).all() for weights in layers.values())


def test_self_attention_is_that_of_the_layers(tmp_path):
    """Compare with the layer's own products, without the code that records."""
    model = model_of(tmp_path, "transformer")
    attended = attend(model, SENTENCE)
    recorded = all_attention(model, attended)[ENCODER]["layer 1"]
    transformer = model.single
    tokens = pad_sources([attended.source_tokens]).tokens
    with torch.inference_mode():
        x = transformer.embed(tokens, transformer.source_embedding, transformer.source_positions)
        q, k, _ = transformer.encoder[0].self_attention.project(x)
        expected = (q @ k.transpose(-1, -2) / q.size(-1) ** 0.5).softmax(-1)[0]
    assert torch.allclose(recorded, expected, atol=1e-6)


def test_json_has_the_beam_and_thousandths(tmp_path):
    model = model_of(tmp_path, "transformer")
    attended = attend(model, SENTENCE, 3)
    value = as_json(model, attended)
    assert len(value["translations"]) == 3
    scores = [item["score"] for item in value["translations"]]
    assert scores == sorted(scores, reverse=True)
    weights = torch.tensor(value["maps"][CROSS]["layer 2"])
    assert (weights / 1000 - cross_attention(model, attended)["layer 2"]).abs().max() <= 0.0006
