"""The mean of sentences' BLEU, on subwords, as "Translation using deep neural networks" has it."""

from collections.abc import Callable
from importlib import import_module

from nmt.errors import UserError


def sentence_bleu(
    translations: list[str],
    references: list[list[str]],
    sources: list[str],
    subwords: Callable[[list[str]], list[str]] | None = None,
) -> tuple:
    """Return the mean of sacreBLEU's sentence BLEU (effective order, smoothed) and its signature.

    subwords: splits lines into subwords of the target, joined by spaces. Raises UserError without.
    """
    if subwords is None:
        raise UserError("sentence_bleu counts subwords: give --subwords.")
    bleu = import_module("sacrebleu.metrics").BLEU(tokenize="none", effective_order=True)
    texts = zip(*map(subwords, [translations, *references]), strict=True)
    scores = [bleu.sentence_score(line, others).score for line, *others in texts]
    signature = bleu.get_signature()
    signature.update("tok", "target-subwords")
    return sum(scores) / len(scores), f"{signature}|mean:sentences"
