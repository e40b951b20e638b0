"""The Transformer against the papers' formulas and numbers.

test_agreement.py compares it with other implementations.
"""

import math

import pytest
import torch

from nmt.data.sequences import Sequences, Source
from nmt.models.attention import SelfAttention
from nmt.models.build import build
from nmt.models.dropout import Dropout
from nmt.models.layout import Layout
from nmt.models.position_bias import RelativePositions
from nmt.models.positions import SinusoidalPositions, sinusoids
from tests.support.families import (
    random_model,
    random_sentences,
    sources,
    target_inputs,
    transformer,
)

CONFIG = transformer(dropout=0.0)
EXACT = {"rtol": 1e-9, "atol": 1e-9}


@pytest.mark.parametrize(("tie", "tables"), [("all", 1), ("decoder", 2), ("none", 3)])
def test_what_is_tied_is_one_table(tie, tables):
    model = build(transformer(tie=tie), 23, 23)
    weights = [model.source_embedding.weight, model.target_embedding.weight, model.output.weight]
    assert len(set(map(id, weights))) == tables
    assert sum(p.shape == (23, 16) for p in model.parameters()) == tables
    with torch.no_grad():
        model.target_embedding.weight[7] = 3.0
    assert [(weight[7] == 3.0).all().item() for weight in weights] == [
        tie == "all",
        True,
        tie != "none",
    ]


def test_sinusoids_by_hand():
    table = sinusoids(50, 512)
    for position, i in ((0, 0), (7, 0), (49, 3), (31, 255)):
        angle = position / 10000 ** (2 * i / 512)
        assert table[position, 2 * i] == pytest.approx(math.sin(angle), abs=1e-6)
        assert table[position, 2 * i + 1] == pytest.approx(math.cos(angle), abs=1e-6)
    sines_first = sinusoids(50, 512, sines_first=True)
    assert sines_first.equal(torch.cat([table[:, ::2], table[:, 1::2]], 1))
    added = build(transformer(positions="sines-cosines"), 23, 23).source_positions
    assert added(torch.zeros(2, 16), torch.tensor([7, 49]), 50).equal(
        torch.cat([sinusoids(50, 16)[[7, 49], ::2], sinusoids(50, 16)[[7, 49], 1::2]], 1)
    )


def test_sinusoids_grow_with_the_sentence():
    positions = SinusoidalPositions(16)
    added = positions(torch.zeros(5, 16), torch.arange(3000, 3005), 3005)
    torch.testing.assert_close(added, sinusoids(3005, 16)[3000:])


@pytest.mark.parametrize(("given", "expected"), [(None, 0.25), (0.7, 0.7)])
def test_learned_positions_start_like_embeddings_or_as_told(given, expected):
    model = build(transformer(positions="learned", positions_std=given), 23, 23)
    std = model.source_positions.table.std().item()
    assert std == pytest.approx(expected, rel=0.05)


def queries_keys_values(length=7, heads=2, width=6):
    """Yield random queries, keys and values: (3, H, T, K) each."""
    torch.manual_seed(1)
    return (torch.randn(3, heads, length, width, dtype=torch.float64) for _ in range(3))


def test_relative_positions_are_the_paper_s_sums(monkeypatch):
    """Shaw et al. 2018, equations 3 and 4, pair by pair."""
    monkeypatch.setattr(RelativePositions, "max_distance", 2)
    config = transformer(d_model=12, heads=2, positions="relative")
    attention = SelfAttention(config).double()
    q, k, v = queries_keys_values()
    context = torch.zeros_like(q)
    for t in range(7):
        distances = [min(max(s - t, -2), 2) + 2 for s in range(7)]
        keys = k + attention.position_bias.keys[:, distances]
        values = v + attention.position_bias.values[:, distances]
        scores = [(q[:, :, t] * keys[:, :, s]).sum(-1) / math.sqrt(6) for s in range(7)]
        weights = torch.stack(scores, -1).softmax(-1)
        context[:, :, t] = sum(weights[..., s, None] * values[:, :, s] for s in range(7))
    expected = attention.out(context.transpose(1, 2).flatten(2))
    positions = torch.arange(7)
    where = Layout(None, positions, positions)
    torch.testing.assert_close(attention.attend(q, k, v, where), expected, **EXACT)


def test_transformer_xl_s_positions_are_the_paper_s_sums():
    """Dai et al. 2019, section 3.3: terms (a) to (d), pair by pair."""
    attention = SelfAttention(transformer(d_model=12, heads=2, positions="transformer-xl")).double()
    bias = attention.position_bias
    torch.nn.init.normal_(bias.u)
    torch.nn.init.normal_(bias.v)
    q, k, v = queries_keys_values()
    context = torch.zeros_like(q)
    ahead = sinusoids(7, 12, sines_first=True).double()
    behind = ahead * torch.tensor([-1, 1]).repeat_interleave(6)  # sin(-x) = -sin(x)
    for i in range(7):
        scores = []
        for j in range(7):
            distance = (ahead if i >= j else behind)[abs(i - j)]
            of_distance = torch.stack([distance @ matrix for matrix in bias.project])
            a = (q[:, :, i] * k[:, :, j]).sum(-1)
            b = (q[:, :, i] * of_distance).sum(-1)
            c = (bias.u[:, 0] * k[:, :, j]).sum(-1)
            d = (bias.v[:, 0] * of_distance).sum(-1)
            scores.append((a + b + c + d) / math.sqrt(6))
        weights = torch.stack(scores, -1).softmax(-1)
        context[:, :, i] = (weights[..., None] * v).sum(2)
    expected = attention.out(context.transpose(1, 2).flatten(2))
    where = Layout(None, torch.arange(7), torch.arange(7))
    torch.testing.assert_close(attention.attend(q, k, v, where), expected, rtol=0, atol=1e-6)


def test_a_neighborhood_bounds_what_self_attention_sees():
    model = random_model("transformer-neighborhood")  # of 2 on either side
    source = sources(random_sentences([9]))
    target = target_inputs(random_sentences([8], seed=1))
    near = (torch.arange(9)[:, None] - torch.arange(9)).abs() <= 2
    maps = model.self_attention(source, target)
    for weights in maps["encoder"].values():
        assert weights[0, :, :9, :9].ne(0).equal(near.expand(4, 9, 9))
    for weights in maps["decoder"].values():
        assert weights[0].ne(0).equal(near.tril().expand(4, 9, 9))


def test_rotated_products_depend_on_the_distance_alone():
    position_bias = SelfAttention(transformer(heads=2, d_k=6, positions="rotary")).position_bias
    q, k, _ = queries_keys_values(length=1)

    def product(query, key):
        rotated = position_bias.rotate(k, torch.tensor([key]))
        return position_bias.rotate(q, torch.tensor([query])) @ rotated.mT

    torch.testing.assert_close(product(3, 5), product(1003, 1005), **EXACT)
    assert not torch.allclose(product(3, 5), product(3, 6))
    rotation = torch.polar(*torch.tensor([1.0, 7 * 10000 ** (-2 / 6)], dtype=torch.float64))
    pair = torch.complex(q[..., 0, 2], q[..., 0, 3]) * rotation
    rotated = position_bias.rotate(q, torch.tensor([7]))[..., 0, 2:4]
    torch.testing.assert_close(rotated, torch.view_as_real(pair), **EXACT)


def test_without_positions_the_encoder_sees_a_bag_of_words():
    model = build(transformer(positions="none"), 23, 23).double().eval()
    source = sources(random_sentences([7]))
    order = torch.tensor([3, 0, 6, 1, 2, 5, 4, 7])
    states = model.encode(source)
    reordered = model.encode(Source.padded(source.tokens[:, order], source.lengths))
    torch.testing.assert_close(reordered, states[:, order], **EXACT)


def test_dropout_keeps_the_mean_and_drops_the_share():
    torch.manual_seed(0)
    x = torch.ones(1000, 1001)  # not a multiple of four
    dropped = Dropout(0.3).train()(x)
    assert (dropped == 0).double().mean() == pytest.approx(0.3, abs=0.002)
    assert dropped.mean() == pytest.approx(1.0, abs=0.003)
    assert dropped.max() == pytest.approx(1 / 0.7)
    assert torch.equal(Dropout(0.3).eval()(x), x)


@pytest.mark.parametrize("lengths", [[5, 5], [5, 3]])
def test_the_fused_kernel_gives_the_same(lengths, monkeypatch):
    model = build(CONFIG, 23, 23).double().eval()
    source = sources(random_sentences(lengths))
    target = Sequences.of(torch.tensor([[2, 5, 6, 7], [2, 8, 9, 4]]))
    expected = model(source, target).target
    monkeypatch.setattr("nmt.models.attention.prefers_matmul", lambda q: False)
    torch.testing.assert_close(model(source, target).target, expected, **EXACT)
