"""Intervals and paired tests, on systems whose differences are known."""

import random

import pytest
from sacrebleu.metrics import BLEU

from nmt.evaluation.scores import score, scorers
from nmt.evaluation.significance import compare

RANDOM = random.Random(1)
REFERENCE = [" ".join(RANDOM.choices("abcdefgh", k=RANDOM.randint(5, 20))) for _ in range(300)]
SCORERS = scorers("de")


def damaged(share: float, seed: int) -> list[str]:
    """Return the reference without a share of its words, chosen at random."""
    rng = random.Random(seed)
    return [" ".join(word for word in line.split() if rng.random() > share) for line in REFERENCE]


SYSTEMS = {"bad": [damaged(0.3, 1)], "good": [damaged(0.1, 2)], "as good": [damaged(0.1, 3)]}


@pytest.mark.parametrize("metric", ["bleu", "chrf", "ter"])
def test_a_real_difference_is_told_from_chance(metric):
    comparisons, signatures = compare(SYSTEMS, [REFERENCE], SCORERS[metric])
    assert not comparisons["bad"].may_be_best
    assert max(comparisons["bad"].p_bootstrap, comparisons["bad"].p_randomization) < 0.002
    assert comparisons["good"].may_be_best
    assert comparisons["as good"].may_be_best
    best = [name for name, system in comparisons.items() if system.p_bootstrap is None]
    assert len(best) == 1
    assert "bs:1000" in signatures[0]
    assert "ar:10000" in signatures[1]


def test_scores_and_signatures_are_those_of_score():
    comparisons, signatures = compare(SYSTEMS, [REFERENCE], SCORERS["tokenized_bleu"])
    assert all("tok:sacremoses" in signature for signature in signatures)
    for name, (text,) in SYSTEMS.items():
        assert comparisons[name].score == score(text, [REFERENCE], "de")["tokenized_bleu"].score


def test_the_interval_holds_most_test_sets():
    """About 95% of test sets of the same kind should give a score inside the interval.

    Here 60 test sets are drawn from the sentences, with replacement.
    """
    (translations,) = SYSTEMS["good"]
    comparisons, _ = compare({"good": [translations]}, [REFERENCE], SCORERS["bleu"])
    low = comparisons["good"].score - comparisons["good"].interval
    high = comparisons["good"].score + comparisons["good"].interval
    rng = random.Random(4)
    inside = 0
    for _ in range(60):
        indices = rng.choices(range(300), k=300)
        drawn_translations = [translations[index] for index in indices]
        drawn_reference = [REFERENCE[index] for index in indices]
        inside += low <= BLEU().corpus_score(drawn_translations, [drawn_reference]).score <= high
    assert 50 <= inside < 60


def test_of_many_equally_good_systems_none_is_called_worse():
    """Bonferroni's correction prevents it: without it some would be."""
    systems = {str(seed): [damaged(0.1, seed)] for seed in range(10)}
    comparisons, _ = compare(systems, [REFERENCE], SCORERS["bleu"])
    p_values = [system.p_bootstrap for system in comparisons.values()]
    assert any(p_value is not None and p_value < 0.05 for p_value in p_values)
    assert all(system.may_be_best for system in comparisons.values())


def compare_bleu(**systems: list[list[str]]):
    return compare(systems, [REFERENCE], SCORERS["bleu"])


def test_a_system_of_several_runs_is_their_mean_and_their_least_certain_pair():
    better = damaged(0.1, 2)
    worse = damaged(0.3, 1)
    between = damaged(0.15, 4)
    comparisons, signatures = compare_bleu(two=[better, worse], one=[between])
    alone, _ = compare_bleu(better=[better], worse=[worse])
    mean = (alone["better"].score + alone["worse"].score) / 2
    widest = max(alone["better"].interval, alone["worse"].interval)
    assert comparisons["two"].score == pytest.approx(mean)
    assert comparisons["two"].interval == widest
    assert comparisons["one"].p_bootstrap is None
    # One of its runs is better than the best system's.
    assert comparisons["two"].p_bootstrap == comparisons["two"].p_randomization == 1
    assert comparisons["two"].may_be_best
    assert len(signatures) == 2


@pytest.mark.parametrize(("differing", "p_value"), [(1, 1.0), (2, 0.5), (4, 0.125), (5, 0.0625)])
def test_a_few_lines_that_differ_decide_nothing(differing, p_value):
    """Of the 2^k assignments to two systems the real one and its mirror image are as extreme.

    Lines that differ in nothing that the metric sees are no others.
    """
    worse = [line.split()[0] for line in REFERENCE[:differing]]
    worse += [line.upper() for line in REFERENCE[differing:]]
    systems = {"best": [REFERENCE], "worse": [worse]}
    comparisons, _ = compare(systems, [REFERENCE], SCORERS["lowercased_bleu"])
    assert comparisons["worse"].p_randomization == pytest.approx(p_value, abs=0.01)
    assert comparisons["worse"].may_be_best


def test_differences_as_large_as_the_real_one_count():
    """Of four lines with one edit each, three in one system: 10 of 16 assignments differ by 2."""
    reference = [f"{line} z" for line in REFERENCE[:4]]
    systems = {"worse": [[*REFERENCE[:3], reference[3]]], "best": [[*reference[:3], REFERENCE[3]]]}
    comparisons, _ = compare(systems, [reference], SCORERS["ter"])
    assert comparisons["worse"].p_randomization == pytest.approx(10 / 16, abs=0.01)
