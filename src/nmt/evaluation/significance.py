"""The uncertainty of scores: intervals of single systems, and tests of differences between systems.

All by sacreBLEU, over the sentences of the test set: what other seeds would give is another
question.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from sacrebleu.metrics import TER
from sacrebleu.significance import PairedTest, Result

from nmt.evaluation.scores import Scorer

LEVEL = 0.05
# The paired tests, by the fields of Comparison, as sacreBLEU calls them.
TESTS = {"p_bootstrap": "bs", "p_randomization": "ar"}

Run = tuple[str, int]  # a system's name, and the index of one of its runs


@dataclass(frozen=True)
class Comparison:
    """A comparison of a system with the best one; a system may have runs with several seeds.

    score: the mean over its runs.
    interval: half the width of the 95% interval of a run's score, by bootstrap resampling (Koehn
      2004); the widest.
    p_bootstrap, p_randomization: how often a difference to the best system as large as this one
      comes by chance, by paired bootstrap resampling and by approximate randomization (Riezler and
      Maxwell 2005); the largest of all pairs of its runs with the best system's, and 1 where one of
      its runs is no worse. None for the best itself.
    may_be_best: unless both are below LEVEL divided by the number of systems that are compared with
      the best (Bonferroni's correction). That the best was chosen by the same scores is not
      corrected for.
    """

    score: float
    interval: float
    p_bootstrap: float | None
    p_randomization: float | None
    may_be_best: bool


def compare(
    systems: dict[str, list[list[str]]], references: Sequence[list[str]], scorer: Scorer
) -> tuple[dict[str, Comparison], list[str]]:
    """Return the comparison of each system with the best, and the signatures of both tests.

    systems: each system's translations, a list for each of its runs.
    """
    preprocessed_references = [scorer.preprocess(lines) for lines in references]
    texts: dict[Run, list[str]] = {
        (name, index): scorer.preprocess(lines)
        for name, runs in systems.items()
        for index, lines in enumerate(runs)
    }
    metric = scorer.sacrebleu_metric()
    scores = {
        run: metric.corpus_score(text, preprocessed_references).score for run, text in texts.items()
    }
    means = {
        name: fmean(score for run, score in scores.items() if run[0] == name) for name in systems
    }
    lower_is_better = isinstance(metric, TER)
    best = (min if lower_is_better else max)(means, key=means.__getitem__)

    rivals = [run for run in texts if run[0] != best]
    intervals: dict[Run, float] = {}
    p_values: dict[str, dict[str, list[float]]] = {
        field: {name: [] for name in systems} for field in TESTS
    }
    signatures: list[str] = []
    for baseline in (run for run in texts if run[0] == best):
        compared_texts = {run: texts[run] for run in [baseline, *rivals]}
        for field, test in TESTS.items():
            signature, results = paired_test(test, compared_texts, preprocessed_references, scorer)
            signatures.append(signature)
            for run, result in results.items():
                if result.ci is not None:  # only bootstrap resampling gives intervals
                    intervals[run] = float(result.ci)
            for run in rivals:
                difference = scores[run] - scores[baseline]
                no_worse = difference <= 0 if lower_is_better else difference >= 0
                # sacreBLEU counts chance differences above the real one, so that a difference of
                # zero would seem certain.
                p_value = results[run].p_value
                assert p_value is not None  # only the baseline has none
                p_values[field][run[0]].append(1.0 if no_worse else float(p_value))

    comparisons = {}
    for name in systems:
        interval = max(width for run, width in intervals.items() if run[0] == name)
        if name == best:
            comparisons[name] = Comparison(means[name], interval, None, None, may_be_best=True)
            continue
        largest = {field: max(p_values[field][name]) for field in TESTS}
        is_worse = max(largest.values()) < LEVEL / (len(systems) - 1)
        comparisons[name] = Comparison(means[name], interval, **largest, may_be_best=not is_worse)
    return comparisons, list(dict.fromkeys(signatures))


def paired_test(
    test: str, texts: dict[Run, list[str]], references: list[list[str]], scorer: Scorer
) -> tuple[str, dict[Run, Result]]:
    """Return the signature and results of one of TESTS, of all runs against the first."""
    named_texts: list[tuple[str, Sequence[str]]] = [(str(run), text) for run, text in texts.items()]
    metrics = {"score": scorer.sacrebleu_metric()}
    paired = PairedTest(named_texts, metrics, references, test_type=test)
    signatures, columns = paired()
    (signature,) = signatures.values()
    (column,) = (column for name, column in columns.items() if name != "System")
    results = [result for result in column if isinstance(result, Result)]
    return scorer.full_signature(signature), dict(zip(texts, results, strict=True))
