"""All attention of a model's best translation."""

import pytest
import torch

from nmt.data.batch import pad_sources
from nmt.serving.attention import CROSS, attend
from nmt.serving.folder import TranslationModel
from tests.support import tiny_models

SENTENCE = tiny_models.SOURCE[0]
ENCODER = "encoder self-attention"
DECODER = "decoder self-attention"
JOINT = "joint self-attention"


def model_of(tmp_path, family):
    return TranslationModel(tiny_models.make_model(tmp_path, family))


@pytest.mark.parametrize(
    ("family", "kinds"),
    [
        ("transformer", [CROSS, ENCODER, DECODER]),
        ("transformer-relative", [CROSS, ENCODER, DECODER]),
        ("rnnsearch", [CROSS]),
        ("luong-local", [CROSS]),
        ("decoder-only", [CROSS, JOINT]),
        ("rnnencdec", []),
    ],
)
def test_kinds_and_shapes(tmp_path, family, kinds):
    attended = attend(model_of(tmp_path, family), SENTENCE)
    assert list(attended["maps"]) == kinds
    source, target = len(attended["source"]), len(attended["target"])
    assert len(attended["inputs"]) == target
    shapes = {CROSS: (target, source), ENCODER: (source, source), DECODER: (target, target)}
    shapes[JOINT] = 2 * (len(attended["row"]),)
    for kind, layers in attended["maps"].items():
        for heads in layers.values():
            weights = torch.tensor(heads) / 1000
            assert weights.shape[1:] == shapes[kind]
            if JOINT not in kinds or kind == JOINT:
                assert torch.allclose(weights.sum(-1), torch.ones(weights.shape[:2]), atol=0.03)
            if kind in (DECODER, JOINT):
                assert weights.triu(1).eq(0).all()


def test_a_decoder_only_model_s_tags_are_tokens_that_heads_look_at(tmp_path):
    attended = attend(model_of(tmp_path, "decoder-only"), SENTENCE)
    source, written = attended["source"], attended["target"][:-1]
    assert attended["row"] == ["<en>", *source, "<de>", *written]
    for layer, heads in attended["maps"][JOINT].items():
        weights = torch.tensor(heads)
        assert weights[:, 1:, 0].gt(0).any()
        to_source = weights[:, len(source) + 1 :, 1 : len(source) + 1]
        assert to_source.equal(torch.tensor(attended["maps"][CROSS][layer]))


def test_self_attention_is_that_of_the_layers(tmp_path):
    """Compare with the layer's own products, without the code that records."""
    model = model_of(tmp_path, "transformer")
    recorded = torch.tensor(attend(model, SENTENCE)["maps"][ENCODER]["layer 1"])
    transformer = model.single
    source = pad_sources(model.encode([SENTENCE]))
    with torch.inference_mode():
        x = transformer.embed(source, transformer.source_embedding, transformer.source_positions)
        attention = transformer.encoder[0].self_attention
        q, k, _ = map(attention.split_heads, attention.qkv(x).split(attention.widths, -1))
        expected = (q @ k.transpose(-1, -2) / q.size(-1) ** 0.5).softmax(-1)[0]
    assert (recorded / 1000 - expected).abs().max() <= 0.0006


def test_translations_are_the_beam_and_subwords_the_best(tmp_path):
    model = model_of(tmp_path, "transformer")
    attended = attend(model, SENTENCE)
    texts = [translation["text"] for translation in attended["translations"]]
    scores = [translation["score"] for translation in attended["translations"]]
    assert len(texts) == model.experiment.decoding.beam
    assert scores == sorted(scores, reverse=True)
    assert texts[0] == model.translate([SENTENCE])[0]
    assert "".join(attended["source"]).replace("▁", " ") == f" {SENTENCE}</s>"
    assert "".join(attended["target"][:-1]).replace("▁", " ").strip() == texts[0]
