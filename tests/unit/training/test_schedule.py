"""The learning rate and the weight of the source's loss, update by update."""

import math

import pytest

from nmt.configuration import Training, load_catalog
from nmt.training.schedule import learning_rate, source_weight
from tests.support.workflows import ROOT


def rates(**changes) -> list[float]:
    """Return the learning rate of each of 1000 updates."""
    settings = {"updates": 1000, "batch_tokens": 1, "warmup": 20, "interval": 1}
    training = Training(**settings | changes)
    return [learning_rate(update, training, 0.3) for update in range(1, 1001)]


@pytest.mark.parametrize("update", [1, 100, 3999, 4000, 4001, 100000])
def test_is_the_paper_s_equation_3(update):
    expected = 512**-0.5 * min(update**-0.5, update * 4000**-1.5)
    base = load_catalog(ROOT / "config").experiment("transformer-base")
    rate = learning_rate(update, base.training, base.peak_learning_rate)
    assert rate == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    "schedule",
    [
        {},
        {"schedule": "cosine", "final_learning_rate": 0.1},
        {"schedule": "halving", "halve_from": 500, "halve_every": 100},
        {"schedule": "constant"},
    ],
)
def test_rises_to_the_peak_in_the_warmup_and_never_after(schedule):
    by_update = rates(**schedule)
    assert by_update[:20] == pytest.approx([0.3 * update / 20 for update in range(1, 21)])
    assert by_update[19:] == sorted(by_update[19:], reverse=True)


def test_cosine_ends_at_its_last_rate_and_is_half_way_half_way():
    by_update = rates(schedule="cosine", final_learning_rate=0.1, warmup=0)
    assert by_update[-1] == pytest.approx(0.1)
    assert by_update[499] == pytest.approx(0.2)
    assert by_update[249] == pytest.approx(0.2 + 0.1 * math.cos(math.pi / 4))
    cut = rates(schedule="cosine", final_learning_rate=0.1, warmup=0, cosine_updates=2000)
    assert cut[1:1000:2] == pytest.approx(by_update[:500])


def test_sutskever_s_rate_halves_every_half_epoch_from_the_fifth_on():
    by_update = rates(schedule="halving", halve_from=500, halve_every=50, warmup=0)
    expected = {1: 0.3, 499: 0.3, 500: 0.15, 549: 0.15, 550: 0.075, 600: 0.0375}
    assert {update: by_update[update - 1] for update in expected} == expected


def test_the_source_s_weight_is_linear_between_its_points():
    points = ((100, 1.0), (200, 0.5), (400, 0.0))
    expected = {1: 1, 100: 1, 150: 0.75, 200: 0.5, 300: 0.25, 400: 0, 999: 0}
    assert {update: source_weight(update, points) for update in expected} == expected
    assert source_weight(5, ()) == 0
