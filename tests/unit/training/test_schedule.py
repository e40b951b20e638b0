import math

import pytest
from workflows import ROOT

from nmt.configuration import Training, load_catalog
from nmt.training.schedule import learning_rate, source_weight


def training(**changes) -> Training:
    return Training(**{"updates": 1000, "batch_tokens": 1, "warmup": 20, "interval": 1} | changes)


def rates(**changes) -> list[float]:
    return [learning_rate(update, training(**changes), 0.3) for update in range(1, 1001)]


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
    found = rates(**schedule)
    assert found[:20] == pytest.approx([0.3 * update / 20 for update in range(1, 21)])
    assert found[19:] == sorted(found[19:], reverse=True)


def test_cosine_ends_at_its_last_rate_and_is_half_way_half_way():
    found = rates(schedule="cosine", final_learning_rate=0.1, warmup=0)
    assert found[-1] == pytest.approx(0.1)
    assert found[499] == pytest.approx(0.2)
    assert found[249] == pytest.approx(0.2 + 0.1 * math.cos(math.pi / 4))


def test_sutskever_s_rate_halves_every_half_epoch_from_the_fifth_on():
    found = rates(schedule="halving", halve_from=500, halve_every=50, warmup=0)
    assert [found[update - 1] for update in (1, 499, 500, 549, 550, 600)] == [
        0.3,
        0.3,
        0.15,
        0.15,
        0.075,
        0.0375,
    ]


def test_without_a_schedule_the_rate_stays():
    assert set(rates(schedule="constant", warmup=0)) == {0.3}


def test_the_source_s_weight_is_linear_between_its_points():
    points = ((100, 1.0), (200, 0.5), (400, 0.0))
    assert [source_weight(update, points) for update in (1, 100, 150, 200, 300, 400, 999)] == [
        1,
        1,
        0.75,
        0.5,
        0.25,
        0,
        0,
    ]
    assert source_weight(5, ()) == 0
