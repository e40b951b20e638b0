"""What may be chance: intervals and paired tests, on systems whose differences are known."""

import random

import pytest
from sacrebleu.metrics import BLEU

from nmt.evaluation.scores import measures, score
from nmt.evaluation.significance import compared

RANDOM = random.Random(1)
REFERENCE = [" ".join(RANDOM.choices("abcdefgh", k=RANDOM.randint(5, 20))) for _ in range(300)]
MEASURES = measures("de")


def damaged(share: float, seed: int) -> list[str]:
    """Words left out by chance."""
    chance = random.Random(seed)
    return [
        " ".join(word for word in line.split() if chance.random() > share) for line in REFERENCE
    ]


SYSTEMS = {"bad": [damaged(0.3, 1)], "good": [damaged(0.1, 2)], "as good": [damaged(0.1, 3)]}


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_a_real_difference_is_told_from_chance(metric):
    found, signatures = compared(SYSTEMS, [REFERENCE], MEASURES[metric])
    assert not found["bad"].may_be_best
    assert max(found["bad"].p_bootstrap, found["bad"].p_randomization) < 0.002
    assert found["good"].may_be_best
    assert found["as good"].may_be_best
    assert [each.p_bootstrap is None for each in found.values()].count(True) == 1
    assert "bs:1000" in signatures[0]
    assert "ar:10000" in signatures[1]


def test_scores_and_signatures_are_those_of_score():
    found, signatures = compared(SYSTEMS, [REFERENCE], MEASURES["tokenized_bleu"])
    assert all("tok:sacremoses" in signature for signature in signatures)
    for name, (text,) in SYSTEMS.items():
        assert found[name].score == score(text, [REFERENCE], "de")["tokenized_bleu"].score


def test_the_interval_holds_most_test_sets():
    """Of other sentences of the same kind about 95% should give a score inside; here 60 sets, drawn
    with repetition.
    """
    found, _ = compared({"good": SYSTEMS["good"]}, [REFERENCE], MEASURES["bleu"])
    low, high = (
        found["good"].score - found["good"].interval,
        found["good"].score + found["good"].interval,
    )
    inside, chance = 0, random.Random(4)
    for _ in range(60):
        chosen = chance.choices(range(300), k=300)
        text, reference = (
            [side[number] for number in chosen] for side in (SYSTEMS["good"][0], REFERENCE)
        )
        inside += low <= BLEU().corpus_score(text, [reference]).score <= high
    assert 50 <= inside < 60


def test_of_many_equally_good_systems_none_is_called_worse():
    """At a level of 0.05 for each some would be."""
    systems = {str(seed): [damaged(0.1, seed)] for seed in range(10)}
    found, _ = compared(systems, [REFERENCE], MEASURES["bleu"])
    below = [
        each for each in found.values() if each.p_bootstrap is not None and each.p_bootstrap < 0.05
    ]
    assert below
    assert all(each.may_be_best for each in found.values())


def compare_bleu(**systems: list[list[str]]):
    return compared(systems, [REFERENCE], MEASURES["bleu"])


def test_a_system_of_several_runs_is_their_mean_and_their_least_certain_pair():
    better, worse, between = damaged(0.1, 2), damaged(0.3, 1), damaged(0.15, 4)
    found, signatures = compare_bleu(two=[better, worse], one=[between])
    alone, _ = compare_bleu(better=[better], worse=[worse])
    assert found["two"].score == pytest.approx((alone["better"].score + alone["worse"].score) / 2)
    assert found["two"].interval == max(each.interval for each in alone.values())
    assert found["one"].p_bootstrap is None
    assert (
        found["two"].p_bootstrap == found["two"].p_randomization == 1
    )  # one of its runs is better
    assert found["two"].may_be_best
    assert len(signatures) == 2


def test_a_system_all_of_whose_runs_are_worse_is_worse():
    found, _ = compare_bleu(
        good=[damaged(0.1, 2), damaged(0.1, 3)], bad=[damaged(0.3, 1), damaged(0.3, 5)]
    )
    assert found["good"].may_be_best
    assert not found["bad"].may_be_best


def test_a_system_beside_itself():
    found, _ = compared(
        {"one": SYSTEMS["good"], "same": SYSTEMS["good"]}, [REFERENCE], MEASURES["bleu"]
    )
    assert found["same"].p_randomization == 1
    assert found["same"].may_be_best
