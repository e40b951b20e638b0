"""The mean of sentences' BLEU, on subwords, as "Translation using deep neural networks" has it."""

from collections.abc import Callable

from sacrebleu.metrics import BLEU

from nmt.evaluation.scores import Score


def sentence_bleu(
    translations: list[str],
    references: list[list[str]],
    subwords: Callable[[list[str]], list[str]],
) -> Score:
    """Return the mean of sacreBLEU's sentence BLEU (effective order, smoothed).

    subwords: splits lines into subwords of the target, joined by spaces.
    """
    bleu = BLEU(tokenize="none", effective_order=True)
    texts = zip(*map(subwords, [translations, *references]), strict=True)
    scores = [bleu.sentence_score(line, others).score for line, *others in texts]
    signature = bleu.get_signature()
    signature.update("tok", "target-subwords")
    return Score(sum(scores) / len(scores), f"{signature}|mean:sentences")
