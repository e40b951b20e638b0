"""The Transformer against torch's own on shared weights, and against the paper's numbers."""

import math

import pytest
import torch
from families import random_sentences, sources, target_inputs
from torch import nn

from nmt.configuration import Transformer as Configuration
from nmt.errors import UserError
from nmt.models.attention import causal_mask
from nmt.models.build import build
from nmt.models.dropout import Dropout
from nmt.models.positions import LearnedPositions, SinusoidalPositions, sinusoids
from nmt.models.protocol import PAD

CONFIG = Configuration(layers=2, d_model=16, d_ff=24, heads=4, dropout=0.0)


def copy_attention(theirs: nn.MultiheadAttention, ours) -> None:
    theirs.in_proj_weight.copy_(ours.qkv.weight)
    theirs.in_proj_bias.zero_()
    theirs.out_proj.weight.copy_(ours.out.weight)
    theirs.out_proj.bias.zero_()


def copy_feed_forward(theirs, ours) -> None:
    for linear, own in ((theirs.linear1, ours.feed_forward.inner), (theirs.linear2, ours.feed_forward.outer)):
        linear.load_state_dict(own.state_dict())


@torch.no_grad()
def torch_twin(ours) -> nn.Transformer:
    theirs = nn.Transformer(16, 4, 2, 2, 24, dropout=0.0, batch_first=True, dtype=torch.float64)
    theirs.encoder.norm = theirs.decoder.norm = None  # Post-LN has no final norm
    for layer, own in zip(theirs.encoder.layers, ours.encoder, strict=True):
        copy_attention(layer.self_attn, own.self_attention)
        copy_feed_forward(layer, own)
        layer.norm1.load_state_dict(own.after_self.norm.state_dict())
        layer.norm2.load_state_dict(own.after_feed_forward.norm.state_dict())
    for layer, own in zip(theirs.decoder.layers, ours.decoder, strict=True):
        copy_attention(layer.self_attn, own.self_attention)
        copy_attention(layer.multihead_attn, own.cross_attention)
        copy_feed_forward(layer, own)
        layer.norm1.load_state_dict(own.after_self.norm.state_dict())
        layer.norm2.load_state_dict(own.after_cross.norm.state_dict())
        layer.norm3.load_state_dict(own.after_feed_forward.norm.state_dict())
    return theirs.eval()


def test_agrees_with_torch_on_shared_weights():
    torch.manual_seed(0)
    model = build(CONFIG, 23).double().eval()
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    source, target = sources(random_sentences([5, 1, 9])), target_inputs(random_sentences([6, 6, 6], seed=1))
    theirs = torch_twin(model)
    with torch.no_grad():
        expected = theirs(
            model.embed(source, model.source_positions),
            model.embed(target, model.target_positions),
            tgt_mask=causal_mask(7, torch.zeros((), dtype=torch.float64)),
            src_key_padding_mask=source == PAD,
            memory_key_padding_mask=source == PAD,
        )
        torch.testing.assert_close(model(source, target), expected, rtol=1e-9, atol=1e-9)


def test_one_table_serves_source_target_and_output():
    model = build(CONFIG, 23)
    assert model.output.weight is model.embedding.weight
    with torch.no_grad():
        model.embedding.weight[7] = 3.0
    assert (model.output.weight[7] == 3.0).all()


def test_embeddings_are_scaled_by_the_root_of_the_width():
    model = build(CONFIG, 23).eval()
    embedded = model.embed(torch.tensor([[5, 6]]), model.source_positions)[0]
    torch.testing.assert_close(embedded - sinusoids(2, 16), model.embedding.weight[5:7] * 4)


def test_sinusoids_by_hand():
    table = sinusoids(50, 512)
    for position, i in ((0, 0), (7, 0), (49, 3), (31, 255)):
        angle = position / 10000 ** (2 * i / 512)
        assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
        assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)


def test_sinusoids_grow_with_the_sentence():
    positions = SinusoidalPositions(16)
    torch.testing.assert_close(positions(3000, 5), sinusoids(3005, 16)[3000:])


def test_learned_positions_end_with_a_sentence():
    positions = LearnedPositions(16, 10)
    assert positions(8, 2).shape == (2, 16)
    with pytest.raises(UserError, match="max_positions"):
        positions(8, 3)


@pytest.mark.parametrize(
    ("changes", "millions"),
    # AIAYN Table 3, with its implied table of about 41,000 rows
    [
        ({}, 65),
        ({"d_k": 16}, 58),
        ({"d_k": 32}, 60),
        ({"layers": 2}, 36),
        ({"layers": 4}, 50),
        ({"layers": 8}, 80),
        ({"d_model": 256}, 28),
        ({"d_model": 1024}, 168),
        ({"d_ff": 1024}, 53),
        ({"d_ff": 4096}, 90),
        ({"d_model": 1024, "d_ff": 4096, "heads": 16}, 213),
    ],
)
def test_parameters_are_the_paper_s(changes, millions):
    base = {"layers": 6, "d_model": 512, "d_ff": 2048, "heads": 8, "dropout": 0.1}
    with torch.device("meta"):
        model = build(Configuration(**{**base, **changes}), 41000)
    assert sum(p.numel() for p in model.parameters()) / 1e6 == pytest.approx(millions, rel=0.03)


def test_dropout_keeps_the_mean_and_drops_the_share():
    torch.manual_seed(0)
    x = torch.ones(1000, 1001)  # not a multiple of four
    dropped = Dropout(0.3).train()(x)
    assert (dropped == 0).double().mean() == pytest.approx(0.3, abs=0.002)
    assert dropped.mean() == pytest.approx(1.0, abs=0.003)
    assert dropped.max() == pytest.approx(1 / 0.7)
    assert torch.equal(Dropout(0.3).eval()(x), x)
