"""Preprocessing of text, and its reversal."""

import pytest

from nmt.files import read_lines
from nmt.text.preprocessing import STEPS, Preprocessing
from tests.support.files import mirrored


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("  a\u00a0 b\u2028c\u3000d\x85\te ", "a b c d e"),
        ("Größe “A” – b", "Größe “A” – b"),
        ("a▁b ▁ c", "a_b _ c"),
        ("▁▂▃▄▅▆▇█", "_▂▃▄▄▆▇█"),
        ("\u00a0 \u2029", ""),
        ("", ""),
    ],
)
def test_raw_text_changes_only_in_white_space_and_the_space_mark(line, expected):
    preprocessing = Preprocessing([], "de")
    assert preprocessing.apply(line) == expected
    assert preprocessing.undo(expected) == expected


@pytest.mark.parametrize(
    ("language", "line", "expected"),
    [
        ("en", "He said “Hi” – it’s 5\u00a0% …", 'He said "Hi" - it\'s 5% ...'),
        ("en", "(yes )no ;", "(yes) no;"),
        ("fr", "10\u00a0000 «\u00a0mots\u00a0» \u00a0!", '10,000 "mots" !'),
        (
            "de",
            "soft\u00adhyphen, zero\u200bwidth, bell\x07, \ufeffmark",
            "soft hyphen, zero width, bell , mark",
        ),
    ],
)
def test_punctuation_is_normalized_and_control_characters_are_spaces(language, line, expected):
    assert Preprocessing(["normalize"], language).apply(line) == expected


@pytest.mark.parametrize(
    ("language", "line"),
    [("fa", "می\u200cخواهم کتاب\u200cها را بخوانم."), ("hi", "क्\u200dष"), ("en", "👩\u200d💻")],
)
def test_joiners_are_a_part_of_words(language, line):
    assert Preprocessing(["normalize"], language).apply(line) == line


def test_letters_and_their_marks_are_one_character():
    assert Preprocessing([], "de").apply("fu\u0308r") == "für"


def test_the_multi30k_recipe_lowercases_normalizes_and_tokenizes_unescaped():
    preprocessing = Preprocessing(["lowercase", "normalize", "tokenize"], "en")
    line = preprocessing.apply("A man’s dog, Rex [left], runs & \u201cbarks\u201d.")
    assert line == 'a man \'s dog , rex [ left ] , runs & " barks . "'
    assert preprocessing.undo(line) == 'a man\'s dog, rex [left], runs & "barks."'


def test_entities_are_not_escaped():
    preprocessing = Preprocessing(["tokenize"], "de")
    assert preprocessing.apply("&amp; &lt;") == "& amp ; & lt ;"
    assert preprocessing.undo("& amp ;") == "& amp;"


@pytest.mark.parametrize("steps", [[], STEPS, ["normalize"]])
def test_no_line_is_split(steps):
    preprocessing = Preprocessing(steps, "de")
    code_points = [*range(0x250), *range(0x2000, 0x2070), 0x3000, 0xFEFF, 0x1F600]
    for code in code_points:
        assert len(preprocessing.apply(f"a{chr(code)}b").splitlines()) == 1


def test_multi30k_survives_tokenization_and_back():
    preprocessing = Preprocessing(["tokenize"], "de")
    lines = [" ".join(line.split()) for line in read_lines(mirrored("multi30k/val.de.gz"))]
    unchanged = sum(preprocessing.undo(preprocessing.apply(line)) == line for line in lines)
    assert unchanged / len(lines) > 0.98
