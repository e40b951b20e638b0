"""How far a score may be chance: intervals of single systems, and tests of differences between systems.

All by sacreBLEU, over the sentences of the test set: what other seeds would give is another question.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics import TER
from sacrebleu.significance import PairedTest

from nmt.evaluation.scores import Measure

LEVEL = 0.05


@dataclass(frozen=True)
class Comparison:
    """A system beside the best one.

    interval: half the width of the 95% interval of its score, by bootstrap resampling (Koehn 2004).
    p_bootstrap, p_randomisation: how often a difference to the best system as large as this one comes by chance, by
    paired bootstrap resampling and by approximate randomisation (Riezler and Maxwell 2005); None for the best itself.
    """

    score: float
    interval: float
    p_bootstrap: float | None
    p_randomisation: float | None

    @property
    def may_be_best(self) -> bool:
        """Unless both tests say that it is worse."""
        return self.p_bootstrap is None or max(self.p_bootstrap, self.p_randomisation) >= LEVEL


def compared(
    systems: dict[str, list[str]], references: Sequence[list[str]], measure: Measure
) -> tuple[dict[str, Comparison], list[str]]:
    """Each system against the best of them; and the signatures of both tests."""
    names, metric = list(systems), measure.metric()
    texts = dict(zip(names, measure.texts(list(systems.values())), strict=True))
    prepared = measure.texts(references)
    scores = {name: metric.corpus_score(text, prepared).score for name, text in texts.items()}
    best = (min if isinstance(metric, TER) else max)(names, key=scores.__getitem__)
    order = [best, *(name for name in names if name != best)]
    found, signatures = {}, []
    for test in ("bs", "ar"):
        signed, columns = PairedTest(
            [(name, texts[name]) for name in order], {"score": measure.metric()}, prepared, test_type=test
        )()
        (results,) = (values for column, values in columns.items() if column != "System")
        found[test] = dict(zip(order, results, strict=True))
        signatures += [measure.described_in(signature) for signature in signed.values()]

    def p_value(test: str, name: str) -> float | None:
        if name == best:
            return None
        # sacreBLEU counts chance differences above the real one, so that none at all would seem a sure thing.
        return 1.0 if scores[name] == scores[best] else float(found[test][name].p_value)

    return {
        name: Comparison(scores[name], float(found["bs"][name].ci), p_value("bs", name), p_value("ar", name))
        for name in names
    }, signatures
