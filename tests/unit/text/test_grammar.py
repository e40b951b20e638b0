"""The grammar interpreter, on a small grammar, and the errors of a grammar."""

import copy
from pathlib import Path
from random import Random

import pytest

from nmt.errors import UserError
from nmt.text.grammar import Grammar, generate

PATH = Path(__file__).parents[3] / "config" / "grammar.yaml"

SMALL = {
    "start": "Sentence",
    "length": {"least": 2, "most": 3},
    "once": [],
    "finish": {"en": [[r" +\.", "."]], "de": [[r" +\.", "."]]},
    "tables": {"the": {"m": "der", "f": "die"}},
    "words": {
        "noun": [
            {
                "columns": ["en", "de", "gender"],
                "kind": "animal",
                "rows": [["dog", "Hund", "m"], ["cat", "Katze", "f"]],
            }
        ],
        "verb": [{"columns": ["en", "de"], "rows": [["sleeps", "schläft"], ["laughs", "lacht"]]}],
    },
    "rules": {
        "Sentence": [
            {
                "let": {"n": "NP kind=animal", "v": "verb"},
                "en": "{n.en} {v.en} .",
                "de": "{n.de} {v.de} .",
            }
        ],
        "NP": [
            {"let": {"n": "noun kind={kind}"}, "en": "the {n.en}", "de": "{the n.gender} {n.de}"}
        ],
    },
}


def test_a_small_grammar_yields_all_its_pairs():
    pairs = generate(Grammar(SMALL), {"train": 4}, 1)["train"]
    assert sorted(pairs) == [
        ("The cat laughs.", "Die Katze lacht."),
        ("The cat sleeps.", "Die Katze schläft."),
        ("The dog laughs.", "Der Hund lacht."),
        ("The dog sleeps.", "Der Hund schläft."),
    ]


def test_either_language_can_be_the_source():
    source, target = Grammar(SMALL, source="de", target="en").sentence(Random(1))
    assert source.split()[0] in ("Der", "Die")
    assert target.split()[0] == "The"


def test_asking_for_more_pairs_than_there_are_is_an_error():
    with pytest.raises(UserError, match="after 4 distinct pairs"):
        generate(Grammar(SMALL), {"train": 5}, 1)


def test_no_sentence_of_the_allowed_length_is_an_error():
    with pytest.raises(UserError, match="none of 9 to 10 words"):
        Grammar({**SMALL, "length": {"least": 9, "most": 10}}).sentence(Random(1))


def test_words_of_a_class_in_once_are_not_repeated():
    data = copy.deepcopy(SMALL)
    data["once"] = ["noun"]
    data["length"]["most"] = 9
    data["rules"]["Sentence"][0] = {
        "let": {"n": "NP kind=animal", "v": "verb", "m": "NP kind=animal"},
        "en": "{n.en} {v.en} and {m.en}",
        "de": "{n.de} {v.de} und {m.de}",
    }
    grammar = Grammar(data)
    random = Random(1)
    for _ in range(20):
        assert {"dog", "cat"} < set(grammar.sentence(random)[0].split())


def changed(path, value):
    """A copy of SMALL with another value at the path of keys, or without it when it is None."""
    data = copy.deepcopy(SMALL)
    *parent_path, last_key = path
    parent = data
    for key in parent_path:
        parent = parent[key]
    if value is None:
        del parent[last_key]
    else:
        parent[last_key] = value
    return data


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["words"], None, "'words'"),
        (["once"], ["nuon"], "'nuon': did you mean 'noun'"),
        (["rules", "NP", 0, "let", "n"], "noum kind={kind}", "'noum': did you mean 'noun'"),
        (["rules", "NP", 0, "en"], "the {n.eng}", "rule NP looks for 'eng'"),
        (["rules", "NP", 0, "en"], "the {m.en}", "rule NP looks for 'm'"),
        (["rules", "NP", 0, "de"], None, "rule Sentence looks for 'de'"),
        (["rules", "NP", 0, "when"], {"knd": "animal"}, "rule NP looks for 'knd'"),
        (["words", "noun", 0, "rows", 1], ["cat", "Katze"], r"noun \['cat', 'Katze'\]"),
        (["words", "noun", 0, "rows", 1], ["cat", "Katze", False], "noun .*False.*in quotes"),
        (["finish", "en"], [["(", ""]], "what it should be"),
        (["words", "noun", 0, "kind"], "thing", "no noun with {'kind': 'animal'}"),
        (["tables", "the"], {"x": "der"}, "rule NP looks for"),
        (["rules", "NP", 0, "when"], {"kind": "thing"}, "no production of NP fits .*animal"),
    ],
)
def test_the_error_says_what_is_wrong_with_a_grammar(path, value, message):
    with pytest.raises(UserError, match=message):
        Grammar(changed(path, value)).sentence(Random(1))
