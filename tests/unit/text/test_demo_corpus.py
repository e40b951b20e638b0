"""The demo corpus, which config/grammar.yaml yields: splits, text, and German grammar."""

import re
from pathlib import Path
from random import Random

import pytest

from nmt.configuration import read_yaml
from nmt.text.grammar import Grammar, generate

PATH = Path(__file__).parents[3] / "config" / "grammar.yaml"


@pytest.fixture(scope="module")
def grammar():
    return Grammar(read_yaml(PATH, dict))


@pytest.fixture(scope="module")
def pairs(grammar):
    random = Random(1)
    return [grammar.sentence(random) for _ in range(1500)]


def test_splits_are_distinct_and_share_nothing(grammar):
    sizes = {"train": 500, "dev": 50, "test": 100}
    corpus = generate(grammar, sizes, 1)
    assert {split: len(pairs) for split, pairs in corpus.items()} == sizes
    for side in (0, 1):
        sentences = {pair[side] for pairs in corpus.values() for pair in pairs}
        assert len(sentences) == sum(sizes.values())


def test_an_english_phrase_has_one_german_translation(grammar):
    """Take noun phrases, which are short enough to occur twice."""
    random = Random(1)
    translations = {}
    for _ in range(1500):
        phrase = grammar.draw("NP", {"kind": "animal", "case": "dat", "det": "any"}, random, set())
        english = grammar.finish(phrase["en"], "en")
        german = grammar.finish(phrase["de"], "de")
        assert translations.setdefault(english, german) == german
    assert len(translations) < 1500


def test_text_is_clean(pairs):
    for pair in pairs:
        for text in pair:
            assert re.fullmatch(r"[0-9A-ZÄÖÜ][\w ,.'-]*\w\.", text)
            assert not re.search(r"  |,,| ,|,\S|_|\bNone\b", text)


def german_for(grammar, english, symbol, features):
    """The German of the first phrase drawn whose English is `english`."""
    random = Random(1)
    for _ in range(20000):
        phrase = grammar.draw(symbol, features, random, set())
        if grammar.finish(phrase["en"], "en").lower() == english.lower():
            return grammar.finish("x " + phrase["de"], "de")[2:]
    raise AssertionError(f"no {english}")


@pytest.mark.parametrize(
    ("noun", "case", "det", "english", "german"),
    [
        ("dog", "nom", "the", "the small dog", "der kleine Hund"),
        ("dog", "gen", "the", "the small dog", "des kleinen Hundes"),
        ("dog", "dat", "some", "a small dog", "einem kleinen Hund"),
        ("dog", "dat", "some", "two small dogs", "zwei kleinen Hunden"),
        ("dog", "nom", "firm", "Anna's small dog", "Annas kleiner Hund"),
        ("dog", "dat", "firm", "Hans's small dog", "dem kleinen Hund von Hans"),
        ("dog", "acc", "no", "any dogs", "keine Hunde"),
        ("house", "gen", "some", "an old house", "eines alten Hauses"),
        ("cat", "dat", "the", "the black cat", "der schwarzen Katze"),
        ("boy", "gen", "the", "the clever boy", "des klugen Jungen"),
        ("wine", "dat", "any", "good wine", "gutem Wein"),
        ("secret", "gen", "the", "the secret", "des Geheimnisses"),
        ("table", "dat", "the", "the kitchen table", "dem Küchentisch"),
    ],
)
def test_agreement(grammar, noun, case, det, english, german):
    [word] = [word for word in grammar.words["noun"] if word["en"] == noun]
    features = {"n": word, "case": case, "det": det, "number": "any"}
    assert german_for(grammar, english, "Nominal", features) == german


@pytest.mark.parametrize(
    ("symbol", "features", "english", "german"),
    [
        ("At", {"kind": "place"}, "in the garden", "im Garten"),
        ("At", {"kind": "place"}, "at the station", "am Bahnhof"),
        ("Goal", {"kind": "goal"}, "to the station", "zum Bahnhof"),
        ("Goal", {"kind": "goal"}, "to Munich", "nach München"),
        ("Number", {}, "twenty-one", "einundzwanzig"),
        ("TimePhrase", {"tense": "past"}, "two years ago", "vor zwei Jahren"),
    ],
)
def test_phrases(grammar, symbol, features, english, german):
    assert german_for(grammar, english, symbol, features) == german


@pytest.mark.parametrize(
    ("verb", "agr", "tense", "english", "main", "final"),
    [
        ("open", "m", "present", "opens", "macht … auf", "aufmacht"),
        ("open", "f", "perfect", "has opened", "hat … aufgemacht", "aufgemacht hat"),
        ("invite", "m", "progressive", "is inviting", "lädt … ein", "einlädt"),
        ("feed", "ich", "present", "feed", "füttere …", "füttere"),
        ("go", "pl", "pluperfect", "had gone", "waren … gegangen", "gegangen waren"),
        ("eat", "pl", "past", "ate", "aßen …", "aßen"),
    ],
)
def test_verbs(grammar, verb, agr, tense, english, main, final):
    word = next(word for word in grammar.words["verb"] if word["base"] == verb)
    persons = {"person": grammar.tables["person"][agr], "number": grammar.tables["number"][agr]}
    features = {"verb": word, "agr": agr, **persons, "tense": tense, "polarity": "plain"}
    group = grammar.draw("VerbGroup", features, Random(1), set())
    assert f"{group['aux']} {group['main']}".split() == english.split()
    assert f"{group['fin']} … {group['end']}".strip() == main
    assert group["last"] == final


@pytest.mark.parametrize(("agr", "german"), [("m", "er"), ("f", "sie"), ("n", "es")])
def test_a_pronoun_agrees_in_gender_with_its_antecedent(grammar, agr, german):
    antecedent = {"kind": "animal", "sort": "animal", "agr": agr, "pro": "it"}
    features = {"frame": "past", "room": "light", "aspect": "any", "who": antecedent}
    random = Random(1)
    subjects = [grammar.draw("Subject", features, random, set()) for _ in range(50)]
    assert {subject["pronoun"] for subject in subjects if subject["en"] == "it"} == {german}
