"""BLEU in its variants, chrF and TER: known values, invariants, other implementations."""

import random
import shutil
import subprocess
import unicodedata
from math import exp

import pytest
import sacrebleu

from nmt.errors import UserError
from nmt.evaluation.scores import by_source_length, check_scorable, score, scorers
from nmt.evaluation.tokenized import compounds_split, moses_tokens, normalized

NAMES = [
    "bleu",
    "lowercased_bleu",
    "chrf",
    "ter",
    "tokenized_bleu",
    "compound_split_bleu",
    "quotes_mapped_bleu",
    "quotes_mapped_compound_split_bleu",
    "lowercased_tokenized_bleu",
]
GERMAN = [
    "Der E-Mail-Verkehr ruht, sagte Herr Dr. Meier.",
    '"Das ist gut", sagte er am 3. Mai um 10:30 Uhr.',
    "Ein Mann in einem blauen Hemd steht auf einer Leiter & putzt ein Fenster.",
]
NEARLY = [
    "Der Mail-Verkehr ruht, sagte Dr. Meier.",
    '"Das war gut", sagte er am 3. Mai um 10:30 Uhr.',
    "Ein Mann in blauem Hemd steht auf einer Leiter & putzt das Fenster.",
]


def words(seed: int, sentences: int) -> list[str]:
    """Return random sentences of plain words, which tokenization does not change.

    Many of their n-grams repeat.
    """
    rng = random.Random(seed)
    return [" ".join(rng.choices("abcde", k=rng.randint(3, 12))) for _ in range(sentences)]


@pytest.mark.parametrize(
    ("change", "perfect"),
    [
        (str, NAMES),
        (str.upper, ["ter", "lowercased_bleu", "lowercased_tokenized_bleu"]),
        (
            lambda line: line.replace('"Das ist gut"', "„Das ist gut“"),
            [
                "quotes_mapped_bleu",
                "quotes_mapped_compound_split_bleu",
                "lowercased_tokenized_bleu",
            ],
        ),
    ],
)
def test_changes_that_a_metric_does_not_see_leave_it_perfect(change, perfect):
    scores = score([change(line) for line in GERMAN], [GERMAN], "de")
    assert list(scores) == NAMES
    for name, value in scores.items():
        best = 0 if name == "ter" else 100
        assert (value.score == pytest.approx(best)) == (name in perfect), name


def test_brevity_penalty_and_edit_rate_by_hand():
    value = score(["a b c d e"], [["a b c d e f g"]], "en")
    assert value["tokenized_bleu"].score == pytest.approx(100 * exp(1 - 7 / 5))
    # Two words to insert, for a reference of seven.
    assert value["ter"].score == pytest.approx(100 * 2 / 7)


def test_agrees_with_sacrebleu():
    scores = score(NEARLY, [GERMAN], "de")
    assert scores["bleu"].score == sacrebleu.corpus_bleu(NEARLY, [GERMAN]).score
    assert scores["chrf"].score == sacrebleu.corpus_chrf(NEARLY, [GERMAN]).score
    assert scores["ter"].score == sacrebleu.corpus_ter(NEARLY, [GERMAN]).score


@pytest.mark.parametrize("sets", [1, 3])
def test_bleu_of_tokens_agrees_with_sacrebleu(sets):
    """Plain words, many of whose n-grams repeat, are tokens already."""
    translations, *references = (words(seed, 50) for seed in range(sets + 1))
    expected = sacrebleu.corpus_bleu(translations, references, tokenize="none").score
    assert 1 < expected < 99
    assert score(translations, references, "de")["tokenized_bleu"].score == pytest.approx(expected)


def test_a_second_reference_equal_to_the_translations_makes_them_perfect():
    single = score(NEARLY, [GERMAN], "de")
    double = score(NEARLY, [GERMAN, NEARLY], "de")
    for name in NAMES:
        assert double[name].score == pytest.approx(0 if name == "ter" else 100), name
        assert double[name].score != pytest.approx(single[name].score), name
        assert double[name].signature == single[name].signature.replace("nrefs:1", "nrefs:2"), name


def test_an_empty_line_beside_another_reference_is_none():
    gaps = [line if index % 2 else "" for index, line in enumerate(NEARLY)]
    without = score(NEARLY, [GERMAN], "de")
    for name, value in score(NEARLY, [GERMAN, [""] * len(GERMAN)], "de").items():
        assert value.score == without[name].score, name
    expected = sacrebleu.corpus_bleu(NEARLY, [GERMAN, [line or None for line in gaps]])
    for gap in ("", " ", "\u00a0"):
        second = [line or gap for line in gaps]
        assert score(NEARLY, [GERMAN, second], "de")["bleu"].score == expected.score


def test_the_form_of_unicode_does_not_matter_but_is_said(caplog):
    lines = [line.replace("E", "Ö") for line in GERMAN]
    decomposed = [unicodedata.normalize("NFD", line) for line in lines]
    assert decomposed != lines
    for name, value in score(decomposed, [lines], "de").items():
        assert value.score == pytest.approx(0 if name == "ter" else 100), name
        assert "nfc" not in value.signature  # equal for all systems
    assert all("nfc" in value.signature for value in score(lines, [decomposed], "de").values())
    check_scorable(decomposed, [lines], ["out", "one"], "de")
    assert "out: 2 lines are not in Unicode's form NFC" in caplog.text


def test_an_empty_line_of_the_only_reference_is_said(caplog):
    check_scorable(GERMAN, [[" ", *GERMAN[1:]]], ["out", "one"], "de")
    assert f"1 of {len(GERMAN)} lines have an empty reference" in caplog.text


@pytest.mark.parametrize(("language", "tokens"), [("zh", "zh"), ("th", "char")])
def test_languages_without_spaces_have_the_metrics_that_need_none(language, tokens, caplog):
    lines = ["我们学习机器翻译。", "今天天气很好。"]
    scores = score(lines, [lines], language)
    assert list(scores) == ["bleu", "chrf"]
    assert all(value.score == pytest.approx(100) for value in scores.values())
    assert f"tok:{tokens}" in scores["bleu"].signature
    (part,) = by_source_length(lines, [lines], language, [1, 1], [0])
    assert part["bleu"] == pytest.approx(100)
    check_scorable(lines, [lines], ["out", "one"], language)
    assert not caplog.records
    check_scorable(lines, [lines], ["out", "one"], "cmn")
    assert "one has no spaces between words" in caplog.text


def test_tokens_are_moses_tokens_unescaped():
    assert moses_tokens(GERMAN, "de") == [
        "Der E-Mail-Verkehr ruht , sagte Herr Dr. Meier .",
        '" Das ist gut " , sagte er am 3. Mai um 10 : 30 Uhr .',
        "Ein Mann in einem blauen Hemd steht auf einer Leiter & putzt ein Fenster .",
    ]


@pytest.mark.skipif(shutil.which("perl") is None, reason="perl is not installed")
def test_compounds_are_split_as_perl_does():
    rng = random.Random(0)
    lines = [
        "".join(rng.choices("ab-ä–€. ", weights=[2, 2, 4, 1, 1, 1, 1, 1], k=30)) for _ in range(200)
    ]
    perl = subprocess.run(
        ["perl", "-ple", r"s{(\S)-(\S)}{$1 ##AT##-##AT## $2}g"],
        input="".join(f"{line}\n" for line in lines).encode(),
        capture_output=True,
        check=True,
        env={"LC_ALL": "C"},
    )
    assert compounds_split(lines) == perl.stdout.decode().split("\n")[:-1]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("„gut“, sagte er …", '"gut", sagte er ...'),
        # The line's end counts as a character after the quote.
        ('er sagte: "gut."', 'er sagte: "gut".'),
        ("das ist’s – ja", "das ist's - ja"),
        # As Moses does it, odd as it is.
        ("er sprang 50’ weit", 'er sprang 50" weit'),
    ],
)
def test_normalized(line, expected):
    assert normalized([line], "de") == [expected]


def test_buckets_hold_each_sentence_once():
    translations = words(0, 40)
    references = [words(1, 40), words(2, 40)]
    lengths = [index % 20 for index in range(35)] + [20, 25, 50, 1000, 5000]
    buckets = by_source_length(translations, references, "de", lengths, [0, 5, 10, 20])
    assert [(bucket["from"], bucket["to"], bucket["sentences"]) for bucket in buckets] == [
        (0, 5, 10),
        (5, 10, 10),
        (10, 20, 15),
        (20, None, 5),
    ]
    inside = [index for index in range(40) if 5 <= lengths[index] < 10]
    texts = [[text[index] for index in inside] for text in (translations, *references)]
    assert buckets[1]["bleu"] == sacrebleu.corpus_bleu(texts[0], texts[1:]).score


@pytest.mark.parametrize(
    "mark", ["\t0-0", "&quot;", "schläft .", "&#91;", "E @-@ Mail", "Lei@@ ter", "▁Hund"]
)
def test_text_that_is_not_plain_is_warned_of(mark, caplog):
    marked = [f"{line} {mark}" for line in GERMAN]
    check_scorable(GERMAN, [GERMAN], ["out", "reference"], "de")
    check_scorable(marked, [GERMAN, marked], ["out", "one", "two"], "de")
    assert not caplog.records
    check_scorable(marked, [GERMAN], ["out", "reference"], "de")
    assert "out: 3 of 3 lines" in caplog.text


@pytest.mark.parametrize(
    ("translations", "references", "message"),
    [
        (GERMAN, [GERMAN, []], "two is empty"),
        (GERMAN, [[*GERMAN, "x"], GERMAN], "out and one differ .* 3 against 4"),
    ],
)
def test_what_cannot_be_scored_is_refused(translations, references, message):
    names = ["out", "one", "two"][: 1 + len(references)]
    with pytest.raises(UserError, match=message):
        check_scorable(translations, references, names, "de")


def test_translations_without_a_word_are_scored():
    for name, value in score(["", " ", "\t"], [GERMAN], "de").items():
        assert value.score == (100 if name == "ter" else 0), name


def test_what_is_not_a_language_code_is_refused_or_warned_of(caplog):
    with pytest.raises(UserError, match="German"):
        score(GERMAN, [GERMAN], "German")
    for language in ("de", "tdt", "tr", "nds", "zh"):  # Moses has no abbreviations of the last ones
        scorers(language)
    assert not caplog.records
    for language in ("xx", "ge", "eng"):
        score(GERMAN, [GERMAN], language)
        assert repr(language) in caplog.messages[-1]
    assert len(caplog.records) == 3
