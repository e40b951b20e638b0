"""How far a score may be chance: intervals of single systems, and tests of differences between
systems.

All by sacreBLEU, over the sentences of the test set: what other seeds would give is another
question.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from sacrebleu.metrics import TER
from sacrebleu.significance import PairedTest

from nmt.evaluation.scores import Measure

LEVEL = 0.05
TESTS = {"p_bootstrap": "bs", "p_randomization": "ar"}


@dataclass(frozen=True)
class Comparison:
    """A system beside the best one; a system may have runs with several seeds.

    score: the mean over its runs.
    interval: half the width of the 95% interval of a run's score, by bootstrap resampling (Koehn
      2004); the widest.
    p_bootstrap, p_randomization: how often a difference to the best system as large as this one
      comes by chance, by paired bootstrap resampling and by approximate randomization (Riezler and
      Maxwell 2005); the largest of all pairs of its runs with the best system's, and 1 where one of
      its runs is no worse. None for the best itself.
    may_be_best: unless both are below LEVEL divided by the number of systems that are held against
      the best (Bonferroni's correction). That the best was chosen by the same scores is not
      corrected for.
    """

    score: float
    interval: float
    p_bootstrap: float | None
    p_randomization: float | None
    may_be_best: bool


def compared(
    systems: dict[str, list[list[str]]], references: Sequence[list[str]], measure: Measure
) -> tuple[dict[str, Comparison], list[str]]:
    """Each system, given as its runs' translations, against the best of them; and the signatures of
    both tests.
    """
    metric, prepared = measure.metric(), measure.texts(references)
    texts = {
        (name, run): text
        for name, runs in systems.items()
        for run, text in enumerate(measure.texts(runs))
    }
    scores = {key: metric.corpus_score(text, prepared).score for key, text in texts.items()}
    means = {
        name: fmean(scores[name, run] for run in range(len(runs))) for name, runs in systems.items()
    }
    lower_is_better = isinstance(metric, TER)
    best = (min if lower_is_better else max)(means, key=means.__getitem__)
    others = [key for key in texts if key[0] != best]
    intervals: dict[tuple[str, int], float] = {}
    p_values: dict[str, dict[str, list[float]]] = {
        kind: {name: [] for name in systems} for kind in TESTS
    }
    signatures: list[str] = []
    for baseline in (key for key in texts if key[0] == best):
        for kind, test in TESTS.items():
            order = [baseline, *others]
            signed, columns = PairedTest(
                [(str(key), texts[key]) for key in order],
                {"score": measure.metric()},
                prepared,
                test_type=test,
            )()
            (results,) = (values for column, values in columns.items() if column != "System")
            signatures += [measure.described_in(signature) for signature in signed.values()]
            for key, result in zip(order, results, strict=True):
                if test == "bs":
                    intervals[key] = float(result.ci)
                if key != baseline:
                    no_worse = (
                        scores[key] == scores[baseline]
                        or (scores[key] < scores[baseline]) == lower_is_better
                    )
                    # sacreBLEU counts chance differences above the real one, so that none would
                    # seem a sure thing.
                    p_values[kind][key[0]].append(1.0 if no_worse else float(result.p_value))

    def comparison(name: str) -> Comparison:
        found = {kind: max(p_values[kind][name], default=None) for kind in TESTS}
        certain = name != best and max(found.values()) < LEVEL / (len(systems) - 1)
        widest = max(interval for key, interval in intervals.items() if key[0] == name)
        return Comparison(means[name], widest, **found, may_be_best=not certain)

    return {name: comparison(name) for name in systems}, list(dict.fromkeys(signatures))
