"""Scores of translations against references: BLEU, chrF, TER and tokenized variants of BLEU.

All texts are plain and detokenized, one sentence a line. Every score comes with a signature that
says how it was computed, in the form of Post 2018, "A Call for Clarity in Reporting BLEU Scores".
"""

import logging
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from locale import locale_alias
from typing import Any

import sacremoses
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric as SacrebleuMetric
from sacrebleu.metrics.base import Signature
from sacremoses.corpus import NonbreakingPrefixes

from nmt.errors import UserError
from nmt.evaluation.metrics import METRICS, WITHOUT_SPACES, Metric, metrics_for
from nmt.evaluation.tokenized import compounds_split, moses_tokens, normalized

# Escapes of Moses's tokenizer, its joined hyphens, the marks of BPE and sentencepiece, detached
# full stops, and what parts a score or a number from its translation
PROCESSED = re.compile(r"&(?:amp|quot|apos|lt|gt|#91|#93|#124);| @-@ |@@(?: |$)|▁| \.$|\t")
# The largest fraction of such lines, beyond those in the references, that a model may have learned
# from its data.
FEW_PROCESSED = 0.005

OF_CHARACTERS = WITHOUT_SPACES[2:]  # BLEU's tokens; for the first two, sacreBLEU finds words
# The scripts without spaces: Thai to Burmese, Khmer, kana and Chinese characters
UNSPACED = re.compile("[\u0e00-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\U00020000-\U0003ffff]")

# German and French quotation marks
QUOTES = str.maketrans(dict.fromkeys("„“”«»", '"'))

References = Sequence[Sequence[str]]


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

    def score(self, translations: list[str], references: list[list[str]]) -> Score:
        """Return the score of translations against all sets of references."""
        metric = self.sacrebleu_metric()
        result = metric.corpus_score(
            self.preprocess(translations), self.preprocess_references(references)
        )
        signature = self.full_signature(metric.get_signature())
        is_nfc = not any(map(decomposed, references))
        return Score(result.score, signature if is_nfc else f"{signature}|norm:nfc")

    def sacrebleu_metric(self) -> SacrebleuMetric:
        """Return a new metric of sacreBLEU, for lines that `preprocess` has returned.

        Raises UserError for a target language whose words it cannot find here.
        """
        if self.metric.scorer == "CHRF":
            return CHRF()
        if self.metric.scorer == "TER":
            return TER()
        if self.metric.moses_tokens:
            return BLEU(tokenize="none", force=True)
        tokenize = "char" if self.target_language in OF_CHARACTERS else None
        try:
            return BLEU(self.metric.lowercase, True, tokenize, trg_lang=self.target_language)
        except RuntimeError as error:  # a tokenizer of sacreBLEU takes packages of its own
            reason = " ".join(str(error).split())
            raise UserError(
                f"sacreBLEU finds no words of {self.target_language!r}: {reason}"
            ) from None

    def preprocess(self, lines: list[str]) -> list[str]:
        """Return the lines as sacreBLEU gets them, in NFC: as they are, or as Moses tokens."""
        lines = [unicodedata.normalize("NFC", line) for line in lines]
        if not self.metric.moses_tokens:
            return lines
        if self.metric.map_quotes:
            lines = [line.translate(QUOTES) for line in lines]
        if self.metric.lowercase:
            lines = [line.lower() for line in lines]
        if self.metric.normalize:
            lines = normalized(lines, self.target_language)
        lines = moses_tokens(lines, self.target_language)
        return compounds_split(lines) if self.metric.split_compounds else lines

    def preprocess_references(self, references: Sequence[list[str]]) -> References:
        """Return `preprocess` of each set; an empty line beside another one is no reference."""
        gap: Any = None  # which sacreBLEU takes for no reference, although its types do not say so
        filled = [
            [line if line.strip() or not any(map(str.strip, others)) else gap for line in others]
            for others in zip(*map(self.preprocess, references), strict=True)
        ]
        return list(zip(*filled, strict=True))

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


def scorers(target_language: str) -> dict[str, Scorer]:
    """Return a scorer by name for each of METRICS that is computed from translations.

    Those that need spaces between words are left out for languages without. Raises UserError for a
    target language that is not a code such as "de", and warns of a code that is no language's.
    """
    if not re.fullmatch("[a-z]{2,3}", target_language):
        raise UserError(
            f"the target language {target_language!r} is no language code: give one such as de."
        )
    languages = {re.split("[_.]", name)[0] for name in locale_alias.values()}
    if target_language not in languages | NonbreakingPrefixes().available_langs.keys():
        logging.warning(
            f"neither Moses nor Python's locales know a language {target_language!r}: if the code"
            " is right, its words are split as those of English; else give another, such as de."
        )
    return {
        name: Scorer(metric, target_language)
        for name, metric in metrics_for(target_language).items()
        if metric.scorer
    }


def score(
    translations: list[str], references: list[list[str]], target_language: str
) -> dict[str, Score]:
    """Return the corpus score of each metric that `scorers` has, by name.

    references: one or more sets, each as long as `translations`. Raises UserError as `scorers`.
    """
    return {
        name: scorer.score(translations, references)
        for name, scorer in scorers(target_language).items()
    }


def by_source_length(
    translations: list[str],
    references: list[list[str]],
    target_language: str,
    source_lengths: Sequence[int],
    bounds: Sequence[int],
) -> list[dict]:
    """Return sacreBLEU of the sentences in each bucket of source length, in words.

    A bucket holds `bounds[i] <= length < bounds[i + 1]`, the last one all from its bound on (its
    "to" is None), and is returned as {"from", "to", "sentences", "bleu", "lowercased_bleu"}; empty
    buckets are left out.
    """
    buckets = []
    for low, high in zip(bounds, [*bounds[1:], None], strict=True):
        inside = [low <= length and (not high or length < high) for length in source_lengths]
        if any(inside):
            first, *others = [list(compress(it, inside)) for it in (translations, *references)]
            bucket: dict = {"from": low, "to": high, "sentences": len(first)}
            for name in ("bleu", "lowercased_bleu"):
                scorer = Scorer(METRICS[name], target_language)
                bucket[name] = scorer.score(first, others).score
            buckets.append(bucket)
    return buckets


def check_scorable(
    translations: list[str], references: list[list[str]], names: Sequence[str], target_language: str
) -> None:
    """Raise UserError unless translations can be scored against references.

    Warns of translations that were not made plain text again, and of a wrong language. names: what
    messages call the translations and each reference, in this order, such as their files.
    """
    check_parallel(list(zip(names, [translations, *references], strict=True)))
    text = "".join(references[0])
    if target_language not in WITHOUT_SPACES and 2 * len(UNSPACED.findall(text)) > len(text):
        logging.warning(
            f"{names[1]} has no spaces between words, which {target_language} has: give its own"
            f" language, one of {', '.join(WITHOUT_SPACES)}, or scores of words mean nothing."
        )
    empty = sum(not any(map(str.strip, lines)) for lines in zip(*references, strict=True))
    if empty:
        logging.warning(
            f"{empty} of {len(translations)} lines have an empty reference: whatever is translated"
            " there counts as wrong."
        )
    if count := decomposed(translations):
        logging.warning(
            f"{names[0]}: {count} lines are not in Unicode's form NFC, in which texts are compared:"
            " sacreBLEU by itself scores them lower."
        )
    processed, *of_references = (
        [match[0] for line in lines if (match := PROCESSED.search(line))]
        for lines in (translations, *references)
    )
    if len(processed) - max(map(len, of_references)) > FEW_PROCESSED * len(translations):
        logging.warning(
            f"{names[0]}: {len(processed)} of {len(translations)} lines hold {processed[0]!r} or"
            " the like, which the references have less of: undo escapes, tokens and subwords, and"
            " leave out other columns, before scoring, or the scores are too low."
        )


def decomposed(lines: list[str]) -> int:
    """Return how many lines are not in Unicode's form NFC."""
    return sum(not unicodedata.is_normalized("NFC", line) for line in lines)


def check_parallel(texts: Sequence[tuple[str, list[str]]]) -> None:
    """Raise UserError unless all texts, given with their names, have equally many lines, or any."""
    first_name, first = texts[0]
    for name, lines in texts:
        if not lines:
            raise UserError(f"{name} is empty, so there is nothing to score: make it again.")
        if len(lines) != len(first):
            raise UserError(
                f"{first_name} and {name} differ in their number of lines, {len(first)} against"
                f" {len(lines)}: they must be the same sentences in the same order."
            )
