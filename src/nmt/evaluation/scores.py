"""Scores of translations against references: sacreBLEU, chrF, TER and the tokenized BLEU variants of papers.

All texts are plain and detokenized, one sentence a line. Every score comes with a signature that says how it was got,
in the form of Post 2018, "A Call for Clarity in Reporting BLEU Scores".
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import pairwise

import sacremoses
from sacrebleu.metrics import BLEU, CHRF, TER
from sacrebleu.metrics.base import Metric, Signature

from nmt.errors import UserError
from nmt.evaluation.tokenized import compounds_split, lowercased_and_normalised, tokenized

# What Moses's tokenizer escapes, in its present and its older spelling.
ESCAPED = re.compile(r"&(?:amp|quot|apos|lt|gt|bar|bra|ket|#91|#93|#124);")


@dataclass(frozen=True)
class Score:
    """`score` is in percent: BLEU and chrF2 from 0 to 100, higher is better; TER from 0 up, lower is better."""

    score: float
    signature: str


@dataclass(frozen=True)
class Measure:
    """A metric of sacreBLEU, what is done to texts before it, and what its signature says of that."""

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

    - bleu: sacreBLEU, its own 13a tokens.
    - chrf: chrF2 (Popović 2016).
    - ter: translation edit rate (Snover et al. 2006), sacreBLEU's defaults.
    - tokenized_bleu: on Moses tokens, cased.
    - compound_split_bleu: the same with compounds split at hyphens, the paper's measure for EN-DE (any language here).
    - lowercased_tokenized_bleu: lower-cased, normalised, tokenized, the measure of most Multi30k papers.

    The last three count as Moses's multi-bleu.perl does, except that an n-gram order without any match is smoothed
    where multi-bleu.perl prints 0. Raises UserError for a target language that is not a code.
    """
    if not re.fullmatch("[a-z]{2,3}", target_language):
        raise UserError(f"The target language {target_language!r} is not a language code: give one such as de or fr.")

    @cache
    def moses(lines: tuple[str, ...]) -> list[str]:
        return tokenized(lines, target_language)

    def lowercased(lines: tuple[str, ...]) -> list[str]:
        return tokenized(lowercased_and_normalised(lines, target_language), target_language)

    tok = f"sacremoses-{sacremoses.__version__}-{target_language}"
    of_tokens = partial(BLEU, tokenize="none", force=True)
    return {
        "bleu": Measure(BLEU),
        "chrf": Measure(CHRF),
        "ter": Measure(TER),
        "tokenized_bleu": Measure(of_tokens, moses, {"tok": tok}),
        "compound_split_bleu": Measure(
            of_tokens, lambda lines: compounds_split(moses(lines)), {"tok": f"{tok}|split:compound"}
        ),
        "lowercased_tokenized_bleu": Measure(of_tokens, lowercased, {"case": "lc", "tok": f"{tok}|norm:moses"}),
    }


def score(translations: list[str], references: list[list[str]], target_language: str) -> dict[str, Score]:
    """The corpus scores by name, as `measures` has them.

    `references` is one or more sets, each as long as `translations`. Raises UserError for what `check` and `measures`
    find.
    """
    found = measures(target_language)
    check(translations, references)
    return {name: corpus_score(measure, [translations, *references]) for name, measure in found.items()}


def corpus_score(measure: Measure, texts: Sequence[list[str]]) -> Score:
    """Of the first text against all others."""
    translations, *references = measure.texts(texts)
    metric = measure.metric()
    value = metric.corpus_score(translations, references).score
    return Score(value, measure.described_in(metric.get_signature()))


def by_source_length(
    translations: list[str], references: list[list[str]], source_lengths: Sequence[int], bounds: Sequence[int]
) -> list[dict]:
    """sacreBLEU (13a) of the sentences in each bucket of source length, in words.

    A bucket holds `bounds[i] <= length < bounds[i + 1]` and is returned as {"from", "to", "sentences", "bleu",
    "lowercased_bleu"}; empty ones are left out. Raises UserError for a sentence that no bucket holds.
    """
    for number, length in enumerate(source_lengths, start=1):
        if not bounds[0] <= length < bounds[-1]:
            raise UserError(
                f"Source line {number} has {length} words, outside the range from {bounds[0]} to {bounds[-1] - 1}: "
                "look whether a line end is missing there."
            )
    buckets = []
    for low, high in pairwise(bounds):
        inside = [index for index, length in enumerate(source_lengths) if low <= length < high]
        if inside:
            buckets.append({"from": low, "to": high, **bleu_of(inside, translations, references)})
    return buckets


def by_source_rank(
    translations: list[str], references: list[list[str]], source_lengths: Sequence[int], parts: int
) -> list[dict]:
    """The same of `parts` equally many sentences each (but for one), from the shortest sources to the longest.

    Returned as {"shortest", "longest", "sentences", "bleu", "lowercased_bleu"}, lengths in words; fewer parts where
    sentences are fewer.
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

    `names` is what errors call the translations and each reference, in this order: their files, where there are any.
    """
    if not references:
        raise UserError("There is no reference to score the translations against: give at least one.")
    names = names or ["The translations", *(f"Reference {number}" for number in range(1, len(references) + 1))]
    check_parallel(list(zip(names, [translations, *references], strict=True)))
    if any(ESCAPED.search(line) for reference in references for line in reference):
        return  # the references are of the same kind
    for number, line in enumerate(translations, start=1):
        if found := ESCAPED.search(line):
            raise UserError(
                f"{names[0]}, line {number}: holds the escaped {found[0]} where the references hold plain characters, "
                "which costs about 1 BLEU unnoticed: undo the escaping (Python's html.unescape does) and score again."
            )


def check_parallel(texts: list[tuple[str, list[str]]]) -> None:
    """Raises UserError unless all texts, given with their names, hold something and have as many lines as the first."""
    for name, lines in texts:
        if not lines:
            raise UserError(f"{name}: empty, so there is nothing to score: make it again.")
        if not any(line.strip() for line in lines):
            raise UserError(
                f"{name}: all {len(lines)} lines are empty, so there is nothing to score: train for longer."
            )
    first_name, first = texts[0]
    for name, lines in texts[1:]:
        if len(lines) != len(first):
            hint = "they must be the same sentences in the same order"
            if {len(lines), len(first)} == {3003, 2737}:
                hint = (
                    "newstest2014 exists in two versions, the full one of 3003 lines and a filtered one of 2737 in "
                    "another order, so take both from the same one"
                )
            raise UserError(
                f"{first_name} and {name} differ in their number of lines, {len(first)} against {len(lines)}: {hint}."
            )
