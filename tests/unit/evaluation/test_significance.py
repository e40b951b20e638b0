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
    return [" ".join(word for word in line.split() if chance.random() > share) for line in REFERENCE]


SYSTEMS = {"bad": damaged(0.3, 1), "good": damaged(0.1, 2), "as good": damaged(0.1, 3)}


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_a_real_difference_is_told_from_chance(metric):
    found, signatures = compared(SYSTEMS, [REFERENCE], MEASURES[metric])
    assert not found["bad"].may_be_best
    assert max(found["bad"].p_bootstrap, found["bad"].p_randomisation) < 0.002
    assert found["good"].may_be_best
    assert found["as good"].may_be_best
    assert [each.p_bootstrap is None for each in found.values()].count(True) == 1
    assert "bs:1000" in signatures[0]
    assert "ar:10000" in signatures[1]


def test_scores_and_signatures_are_those_of_score():
    found, signatures = compared(SYSTEMS, [REFERENCE], MEASURES["tokenized_bleu"])
    assert all("tok:sacremoses" in signature for signature in signatures)
    for name, text in SYSTEMS.items():
        assert found[name].score == score(text, [REFERENCE], "de")["tokenized_bleu"].score


def test_the_interval_holds_most_test_sets():
    """Of other sentences of the same kind about 95% should give a score inside; here 60 sets, drawn with repetition."""
    found, _ = compared({"good": SYSTEMS["good"]}, [REFERENCE], MEASURES["bleu"])
    low, high = found["good"].score - found["good"].interval, found["good"].score + found["good"].interval
    inside, chance = 0, random.Random(4)
    for _ in range(60):
        chosen = chance.choices(range(300), k=300)
        text, reference = ([side[number] for number in chosen] for side in (SYSTEMS["good"], REFERENCE))
        inside += low <= BLEU().corpus_score(text, [reference]).score <= high
    assert 50 <= inside < 60


def test_a_system_beside_itself():
    found, _ = compared({"one": SYSTEMS["good"], "same": SYSTEMS["good"]}, [REFERENCE], MEASURES["bleu"])
    assert found["same"].p_randomisation == 1
    assert found["same"].may_be_best
