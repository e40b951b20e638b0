"""Scores of translations against references: BLEU, chrF, TER and tokenized variants of BLEU.

All texts are plain and detokenized, one sentence a line. Every score comes with a signature that
says how it was computed, in the form of Post 2018, "A Call for Clarity in Reporting BLEU Scores".
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import sacremoses
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.metrics.base import Signature

from nmt.errors import UserError
from nmt.evaluation.metrics import METRICS, Metric
from nmt.evaluation.tokenized import compounds_split, normalized, quotes_mapped, tokenized

# The escapes that Moses's tokenizer writes, in its present and its older spelling
ESCAPED = re.compile(r"&(?:amp|quot|apos|lt|gt|bar|bra|ket|#91|#93|#124);")
# The largest fraction of translations with an escape, beyond those in the references, that is no
# error: a model may learn a few from its data.
MAX_ESCAPED_FRACTION = 0.005
# The longest line: time and memory of TER grow with its square, and 2,000 words take minutes.
MAX_WORDS = 2000


@dataclass(frozen=True)
class Score:
    """A score in percent, and the signature that says how it was computed.

    BLEU and chrF2 go from 0 to 100, higher is better; TER goes from 0 up, lower is better.
    """

    score: float
    signature: str


@dataclass(frozen=True)
class Scorer:
    """The computation of one metric for one target language, a code such as "de"."""

    metric: Metric
    target_language: str

    def sacrebleu_metric(self) -> SacrebleuMetric:
        """Return a new metric of sacreBLEU, for lines that `preprocess` has returned."""
        if self.metric.scorer == "CHRF":
            return CHRF()
        if self.metric.scorer == "TER":
            return TER()
        if self.metric.moses_tokens:
            return BLEU(tokenize="none", force=True)
        return BLEU(lowercase=self.metric.lowercase)

    def preprocess(self, lines: list[str]) -> list[str]:
        """Return the lines as sacreBLEU gets them: as they are, or as Moses tokens."""
        if not self.metric.moses_tokens:
            return lines
        if self.metric.map_quotes:
            lines = quotes_mapped(lines)
        if self.metric.lowercase:
            lines = [line.lower() for line in lines]
        if self.metric.normalize:
            lines = normalized(lines, self.target_language)
        tokens = moses_tokens(tuple(lines), self.target_language)
        return compounds_split(tokens) if self.metric.split_compounds else tokens

    def full_signature(self, signature: Signature) -> str:
        """Return sacreBLEU's signature, completed by the steps of `preprocess`."""
        if self.metric.moses_tokens:
            steps = [f"sacremoses-{sacremoses.__version__}-{self.target_language}"]
            if self.metric.map_quotes:
                steps.append("norm:quotes")
            if self.metric.normalize:
                steps.append("norm:moses")
            if self.metric.split_compounds:
                steps.append("split:compound")
            signature.update("tok", "|".join(steps))
            if self.metric.lowercase:
                signature.update("case", "lc")
        return str(signature)


# Cached because several metrics need the same tokens, and tokenization takes most of their time.
@cache
def moses_tokens(lines: tuple[str, ...], language: str) -> list[str]:
    """Return each line as its Moses tokens, joined by single spaces."""
    return tokenized(lines, language)


def scorers(target_language: str) -> dict[str, Scorer]:
    """Return a scorer by name for each of METRICS that is computed from translations.

    Raises UserError for a target language that is not a code such as "de".
    """
    if not re.fullmatch("[a-z]{2,3}", target_language):
        raise UserError(
            f"The target language {target_language!r} is not a language code: give one such as de"
            " or fr."
        )
    return {
        name: Scorer(metric, target_language) for name, metric in METRICS.items() if metric.scorer
    }


def score(
    translations: list[str],
    references: list[list[str]],
    target_language: str,
    names: Sequence[str] = (),
) -> dict[str, Score]:
    """Return the corpus score of each metric that `scorers` has, by name.

    references: one or more sets, each as long as `translations`. names: as `check_scorable` has
    them. Raises UserError as `check_scorable` and `scorers` do.
    """
    scorer_by_name = scorers(target_language)
    check_scorable(translations, references, names)
    return {
        name: corpus_score(scorer, translations, references)
        for name, scorer in scorer_by_name.items()
    }


def corpus_score(scorer: Scorer, translations: list[str], references: list[list[str]]) -> Score:
    """Return one metric's score of translations against all sets of references."""
    metric = scorer.sacrebleu_metric()
    preprocessed_references = [scorer.preprocess(lines) for lines in references]
    result = metric.corpus_score(scorer.preprocess(translations), preprocessed_references)
    return Score(result.score, scorer.full_signature(metric.get_signature()))


def by_source_length(
    translations: list[str],
    references: list[list[str]],
    source_lengths: Sequence[int],
    bounds: Sequence[int],
) -> list[dict]:
    """Return sacreBLEU (13a) of the sentences in each bucket of source length, in words.

    A bucket holds `bounds[i] <= length < bounds[i + 1]`, the last one all from its bound on (its
    "to" is None), and is returned as {"from", "to", "sentences", "bleu", "lowercased_bleu"}; empty
    buckets are left out.
    """
    buckets = []
    for low, high in zip(bounds, [*bounds[1:], None], strict=True):
        indices = [
            index
            for index, length in enumerate(source_lengths)
            if low <= length and (not high or length < high)
        ]
        if indices:
            scores = bleu_of_subset(indices, translations, references)
            buckets.append({"from": low, "to": high, **scores})
    return buckets


def by_source_rank(
    translations: list[str], references: list[list[str]], source_lengths: Sequence[int], parts: int
) -> list[dict]:
    """Return sacreBLEU (13a) of parts with equally many sentences, shortest sources first.

    The sizes of the `parts` parts differ by one sentence at most. Each is returned as {"shortest",
    "longest", "sentences", "bleu", "lowercased_bleu"}, lengths in words; there are fewer parts
    where there are fewer sentences.
    """
    order = sorted(range(len(source_lengths)), key=source_lengths.__getitem__)
    cuts = [len(order) * part // parts for part in range(parts + 1)]
    return [
        {
            "shortest": source_lengths[order[low]],
            "longest": source_lengths[order[high - 1]],
            **bleu_of_subset(order[low:high], translations, references),
        }
        for low, high in pairwise(cuts)
        if low < high
    ]


def bleu_of_subset(
    indices: Sequence[int], translations: list[str], references: list[list[str]]
) -> dict:
    """Return sacreBLEU (13a) of these sentences alone, with case and without."""
    subset = [translations[index] for index in indices]
    subset_references = [[lines[index] for index in indices] for lines in references]
    cased = BLEU(force=True).corpus_score(subset, subset_references)
    lowercased = BLEU(force=True, lowercase=True).corpus_score(subset, subset_references)
    return {
        "sentences": len(indices),
        "bleu": cased.score,
        "lowercased_bleu": lowercased.score,
    }


def check_scorable(
    translations: list[str], references: list[list[str]], names: Sequence[str] = ()
) -> None:
    """Raise UserError unless translations can be scored against references; warn of empty ones.

    names: what errors call the translations and each reference, in this order: their files, where
    there are any. Errors are missing references, texts that are not parallel (`check_parallel`),
    lines of more than MAX_WORDS words, and escaped translations (`check_unescaped`).
    """
    if not references:
        raise UserError(
            "There is no reference to score the translations against: give at least one."
        )
    if not names:
        numbers = range(1, len(references) + 1)
        names = ["The translations", *(f"Reference {number}" for number in numbers)]
    check_parallel(list(zip(names, [translations, *references], strict=True)))
    check_unescaped(names[0], translations, references)
    for name, lines in zip(names, [translations, *references], strict=True):
        check_words(name, lines)
    empty = [number for number, line in enumerate(translations, start=1) if not line.strip()]
    if empty:
        logging.warning(
            f"{names[0]}: {len(empty)} of {len(translations)} lines are empty, the first is line"
            f" {empty[0]}; they count as translations without a word."
        )


def check_words(name: str, lines: list[str]) -> None:
    """Raise UserError when a line has more than MAX_WORDS words."""
    for number, line in enumerate(lines, start=1):
        words = len(line.split())
        if words > MAX_WORDS:
            raise UserError(
                f"{name}, line {number}: has {words} words, up to {MAX_WORDS} can be scored: split"
                " it into sentences in all texts."
            )


def check_unescaped(name: str, translations: list[str], references: list[list[str]]) -> None:
    """Raise UserError when translations hold many more escaped characters than references do."""
    escaped = {
        number: match
        for number, line in enumerate(translations, start=1)
        if (match := ESCAPED.search(line))
    }
    in_references = [sum(bool(ESCAPED.search(line)) for line in lines) for lines in references]
    if len(escaped) - max(in_references) > MAX_ESCAPED_FRACTION * len(translations):
        number, match = next(iter(escaped.items()))
        raise UserError(
            f"{name}, line {number}: holds the escaped {match[0]}, as {len(escaped)} of"
            f" {len(translations)} lines do, where the references hold plain characters, which"
            " costs about 1 BLEU unnoticed: undo the escaping (Python's html.unescape does) and"
            " score again."
        )


def check_parallel(texts: list[tuple[str, list[str]]]) -> None:
    """Raise UserError unless all texts, given with their names, have equally many lines.

    A text must not be empty. All texts but the first must also have a line that is not empty; the
    first need not, because a model that has learned little may write empty lines only.
    """
    for index, (name, lines) in enumerate(texts):
        if not lines:
            raise UserError(f"{name}: empty, so there is nothing to score: make it again.")
        if index > 0 and not any(line.strip() for line in lines):
            raise UserError(f"{name}: all {len(lines)} lines are empty: make it again.")
    first_name, first = texts[0]
    for name, lines in texts[1:]:
        if len(lines) != len(first):
            hint = "they must be the same sentences in the same order"
            if {len(lines), len(first)} == {3003, 2737}:
                hint = (
                    "newstest2014 exists in two versions, the full one of 3003 lines and a filtered"
                    " one of 2737 in another order, so take both from the same one"
                )
            raise UserError(
                f"{first_name} and {name} differ in their number of lines, {len(first)} against"
                f" {len(lines)}: {hint}."
            )
