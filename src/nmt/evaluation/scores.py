"""Scores of translations against references: sacreBLEU, chrF, TER and the tokenized BLEU variants
of papers.

All texts are plain and detokenized, one sentence a line. Every score comes with a signature that
says how it was got, in the form of Post 2018, "A Call for Clarity in Reporting BLEU Scores".
"""

import logging
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise

import sacremoses
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric, Signature

from nmt.errors import UserError
from nmt.evaluation.tokenized import (
    compounds_split,
    lowercased_and_normalized,
    quotes_mapped,
    tokenized,
)

# What Moses's tokenizer escapes, in its present and its older spelling.
ESCAPED = re.compile(r"&(?:amp|quot|apos|lt|gt|bar|bra|ket|#91|#93|#124);")
MOST_ESCAPED = (
    0.005  # of the lines, beyond those of the references: a model may learn a few from its data
)


@dataclass(frozen=True)
class Score:
    """`score` is in percent: BLEU and chrF2 from 0 to 100, higher is better; TER from 0 up, lower
    is better.
    """

    score: float
    signature: str


@dataclass(frozen=True)
class Measure:
    """A metric of sacreBLEU, what is done to texts before it, and what its signature says of
    that.
    """

    metric: Callable[[], Metric]
    prepare: Callable[[tuple[str, ...]], list[str]] = list
    described: dict[str, str] = field(default_factory=dict)

    def texts(self, texts: Sequence[list[str]]) -> list[list[str]]:
        return [self.prepare(tuple(text)) for text in texts]

    def described_in(self, signature: Signature) -> str:
        for key, description in self.described.items():
            signature.update(key, description)
        return str(signature)


def measures(target_language: str) -> dict[str, Measure]:
    """The measures by name; `target_language` is a code such as "de".

    - bleu: sacreBLEU, its own 13a tokens; lowercased_bleu: the same without case.
    - chrf: chrF2 (Popović 2016).
    - ter: translation edit rate (Snover et al. 2006), sacreBLEU's defaults.
    - tokenized_bleu: on Moses tokens, cased.
    - compound_split_bleu: the same with compounds split at hyphens, the paper's measure for EN-DE
      (any language here).
    - quotes_mapped_bleu, quotes_mapped_compound_split_bleu: the two before with German quotes as
      `"` on both sides, as some published scores for EN-DE have it without saying so.
    - lowercased_tokenized_bleu: lower-cased, normalized, tokenized, the measure of most Multi30k
      papers.

    Those on Moses tokens count as Moses's multi-bleu.perl does, except that an n-gram order without
    any match is smoothed where multi-bleu.perl prints 0. Raises UserError for a target language
    that is not a code.
    """
    if not re.fullmatch("[a-z]{2,3}", target_language):
        raise UserError(
            f"The target language {target_language!r} is not a language code: give one such as de"
            " or fr."
        )

    @cache
    def moses(lines: tuple[str, ...]) -> list[str]:
        return tokenized(lines, target_language)

    def lowercased(lines: tuple[str, ...]) -> list[str]:
        return tokenized(lowercased_and_normalized(lines, target_language), target_language)

    def mapped(lines: tuple[str, ...]) -> list[str]:
        return moses(tuple(quotes_mapped(lines)))

    tok = f"sacremoses-{sacremoses.__version__}-{target_language}"
    of_tokens = partial(BLEU, tokenize="none", force=True)
    mapping = {"tok": f"{tok}|norm:quotes"}
    return {
        "bleu": Measure(BLEU),
        "lowercased_bleu": Measure(partial(BLEU, lowercase=True)),
        "chrf": Measure(CHRF),
        "ter": Measure(TER),
        "tokenized_bleu": Measure(of_tokens, moses, {"tok": tok}),
        "compound_split_bleu": Measure(
            of_tokens, lambda lines: compounds_split(moses(lines)), {"tok": f"{tok}|split:compound"}
        ),
        "quotes_mapped_bleu": Measure(of_tokens, mapped, mapping),
        "quotes_mapped_compound_split_bleu": Measure(
            of_tokens,
            lambda lines: compounds_split(mapped(lines)),
            {"tok": f"{mapping['tok']}|split:compound"},
        ),
        "lowercased_tokenized_bleu": Measure(
            of_tokens, lowercased, {"case": "lc", "tok": f"{tok}|norm:moses"}
        ),
    }


def score(
    translations: list[str], references: list[list[str]], target_language: str
) -> dict[str, Score]:
    """The corpus scores by name, as `measures` has them.

    `references` is one or more sets, each as long as `translations`. Raises UserError for what
    `check` and `measures` find.
    """
    found = measures(target_language)
    check(translations, references)
    return {
        name: corpus_score(measure, [translations, *references]) for name, measure in found.items()
    }


def corpus_score(measure: Measure, texts: Sequence[list[str]]) -> Score:
    """Of the first text against all others."""
    translations, *references = measure.texts(texts)
    metric = measure.metric()
    value = metric.corpus_score(translations, references).score
    return Score(value, measure.described_in(metric.get_signature()))


def by_source_length(
    translations: list[str],
    references: list[list[str]],
    source_lengths: Sequence[int],
    bounds: Sequence[int],
) -> list[dict]:
    """sacreBLEU (13a) of the sentences in each bucket of source length, in words.

    A bucket holds `bounds[i] <= length < bounds[i + 1]`, the last one all from its bound on (its
    "to" is None), and is returned as {"from", "to", "sentences", "bleu", "lowercased_bleu"}; empty
    ones are left out.
    """
    buckets = []
    for low, high in pairwise([*bounds, None]):
        inside = [
            index
            for index, length in enumerate(source_lengths)
            if low <= length and (not high or length < high)
        ]
        if inside:
            buckets.append({"from": low, "to": high, **bleu_of(inside, translations, references)})
    return buckets


def by_source_rank(
    translations: list[str], references: list[list[str]], source_lengths: Sequence[int], parts: int
) -> list[dict]:
    """The same of `parts` equally many sentences each (but for one), from the shortest sources to
    the longest.

    Returned as {"shortest", "longest", "sentences", "bleu", "lowercased_bleu"}, lengths in words;
    fewer parts where sentences are fewer.
    """
    order = sorted(range(len(source_lengths)), key=source_lengths.__getitem__)
    cuts = [len(order) * part // parts for part in range(parts + 1)]
    return [
        {
            "shortest": source_lengths[order[low]],
            "longest": source_lengths[order[high - 1]],
            **bleu_of(order[low:high], translations, references),
        }
        for low, high in pairwise(cuts)
        if low < high
    ]


def bleu_of(numbers: Sequence[int], translations: list[str], references: list[list[str]]) -> dict:
    """sacreBLEU (13a) of these sentences alone, with case and without."""
    own, *theirs = ([text[number] for number in numbers] for text in (translations, *references))
    cased, lowercased = (BLEU(force=True, lowercase=lowercase) for lowercase in (False, True))
    return {
        "sentences": len(numbers),
        "bleu": cased.corpus_score(own, theirs).score,
        "lowercased_bleu": lowercased.corpus_score(own, theirs).score,
    }


def check(translations: list[str], references: list[list[str]], names: Sequence[str] = ()) -> None:
    """Raises UserError unless the texts can be scored against each other.

    `names` is what errors call the translations and each reference, in this order: their files,
    where there are any.
    """
    if not references:
        raise UserError(
            "There is no reference to score the translations against: give at least one."
        )
    names = names or [
        "The translations",
        *(f"Reference {number}" for number in range(1, len(references) + 1)),
    ]
    texts = [translations, *references]
    check_parallel(list(zip(names, texts, strict=True)))
    escaped, *theirs = (
        [line for line, text in enumerate(lines) if ESCAPED.search(text)] for lines in texts
    )
    if len(escaped) - max(map(len, theirs)) > MOST_ESCAPED * len(translations):
        first = escaped[0]
        raise UserError(
            f"{names[0]}, line {first + 1}: holds the escaped"
            f" {ESCAPED.search(translations[first])[0]}, as {len(escaped)} of {len(translations)}"
            " lines do, where the references hold plain characters, which costs about 1 BLEU"
            " unnoticed: undo the escaping (Python's html.unescape does) and score again."
        )
    if empty := [number for number, line in enumerate(translations, start=1) if not line.strip()]:
        logging.warning(
            f"{names[0]}: {len(empty)} of {len(translations)} lines are empty, the first is line"
            f" {empty[0]}; they count as translations without a word."
        )


def check_parallel(texts: list[tuple[str, list[str]]]) -> None:
    """Raises UserError unless all texts, given with their names, hold something and have as many
    lines as the first.

    Of the first, lines are enough: a model that has learned little may write nothing but empty
    ones.
    """
    for number, (name, lines) in enumerate(texts):
        if not lines:
            raise UserError(f"{name}: empty, so there is nothing to score: make it again.")
        if number and not any(line.strip() for line in lines):
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
