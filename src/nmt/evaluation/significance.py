"""The uncertainty of scores: intervals of single systems, and tests of differences between systems.

All by sacreBLEU, over the sentences of the test set: what other seeds would give is another
question.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
from sacrebleu import significance
from sacrebleu.metrics import TER
from sacrebleu.significance import PairedTest, Result

from nmt.evaluation.scores import References, Scorer

LEVEL = 0.05
# The paired tests, by the fields of Comparison, as sacreBLEU calls them.
TESTS = {"p_bootstrap": "bs", "p_randomization": "ar"}
ROUNDING = 1e-9  # by which scores of the same statistics differ

Run = tuple[str, int]  # a system's name, and the index of one of its runs


@dataclass(frozen=True)
class Comparison:
    """A comparison of a system with the best one; a system may have runs with several seeds.

    score: the mean over its runs.
    interval: half the width of the 95% interval of a run's score, by bootstrap resampling (Koehn
      2004); the widest.
    may_be_best: unless both p-values are below LEVEL divided by the number of systems that are
      compared with the best (Bonferroni's correction). That the best was chosen by the same scores
      is not corrected for.
    p_bootstrap, p_randomization: how often a difference to the best system as large as this one
      comes by chance, by paired bootstrap resampling and by approximate randomization (Riezler and
      Maxwell 2005); the largest of all pairs of its runs with the best system's, and 1 where one of
      its runs is no worse. None for the best itself.
    """

    score: float
    interval: float
    may_be_best: bool
    p_bootstrap: float | None = None
    p_randomization: float | None = None


def compare(
    systems: dict[str, list[list[str]]], references: Sequence[list[str]], scorer: Scorer
) -> tuple[dict[str, Comparison], list[str]]:
    """Return the comparison of each system with the best, and the signatures of both tests.

    systems: each system's translations, a list for each of its runs.
    """
    preprocessed = scorer.preprocess_references(references)
    texts: dict[Run, list[str]] = {
        (name, index): scorer.preprocess(lines)
        for name, runs in systems.items()
        for index, lines in enumerate(runs)
    }
    metric = scorer.sacrebleu_metric()
    scores = {run: metric.corpus_score(text, preprocessed).score for run, text in texts.items()}
    means = {
        name: fmean(score for run, score in scores.items() if run[0] == name) for name in systems
    }
    sign = -1 if isinstance(metric, TER) else 1  # lower TER is better
    best = max(means, key=lambda name: sign * means[name])

    rivals = [run for run in texts if run[0] != best]
    intervals: dict[str, list[float]] = {name: [] for name in systems}
    p_values: dict[str, dict[str, list[float]]] = {name: {} for name in systems}  # by TESTS
    signatures: list[str] = []
    for baseline in (run for run in texts if run[0] == best):
        compared = {run: texts[run] for run in [baseline, *rivals]}
        for field, test in TESTS.items():
            signature, results = paired_test(test, compared, preprocessed, scorer)
            signatures.append(signature)
            for run, result in results.items():
                if result.ci is not None:  # only bootstrap resampling gives intervals
                    intervals[run[0]].append(float(result.ci))
                if result.p_value is not None:  # the baseline has none
                    no_worse = sign * (scores[run] - scores[baseline]) >= 0
                    p_value = 1.0 if no_worse else float(result.p_value)
                    p_values[run[0]].setdefault(field, []).append(p_value)

    comparisons = {}
    for name in systems:
        largest = {field: max(values) for field, values in p_values[name].items()}
        may_be_best = name == best or max(largest.values()) >= LEVEL / (len(systems) - 1)
        comparisons[name] = Comparison(
            means[name], max(intervals[name]), may_be_best=may_be_best, **largest
        )
    return comparisons, list(dict.fromkeys(signatures))


def p_value_with_ties(stats: np.ndarray, real_difference: float) -> float:
    """Return the share of chance differences, `stats`, that are as large as the real one.

    sacreBLEU's own, which this replaces, leaves out differences as large as the real one: few lines
    that differ, or differ in nothing that the metric sees, would then seem to decide.
    """
    as_large = int((stats >= real_difference - ROUNDING).sum())
    return (as_large + 1) / (len(stats) + 1)


significance._compute_p_value = p_value_with_ties


def paired_test(
    test: str, texts: dict[Run, list[str]], references: References, scorer: Scorer
) -> tuple[str, dict[Run, Result]]:
    """Return the signature and results of one of TESTS, of all runs against the first."""
    named_texts: list[tuple[str, Sequence[str]]] = [(str(run), text) for run, text in texts.items()]
    metrics = {"score": scorer.sacrebleu_metric()}
    signatures, columns = PairedTest(named_texts, metrics, references, test_type=test)()
    (signature,) = signatures.values()
    results = [item for column in columns.values() for item in column if isinstance(item, Result)]
    return scorer.full_signature(signature), dict(zip(texts, results, strict=True))
