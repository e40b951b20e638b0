"""Filters of training text."""

import pytest

from nmt.configuration import Corpus
from nmt.text.corpora import Filters

PART = {"source": "./a.en", "target": "./a.de"}
VALUES = {"title": "T", "source": "en", "target": "de", "license": "", "splits": {"train": [PART]}}

PAIRS = [
    ("A dog.", "Ein Hund."),
    ("A dog.", "Ein Hund."),  # duplicates
    ("Same", "Same"),
    ("same", "Same"),
    ("", ""),
    ("In the TEST  set", "Neu"),  # overlap
    ("In the TEST  set", "Neu"),  # overlap
    ("New", "fu\u0308r Test"),  # overlap, decomposed
    ("A dog.", "Ein Hund. "),
    ("A dog.", "Ein Hund."),  # duplicates
]
DROPPED = {1: "duplicates", 5: "overlap", 6: "overlap", 7: "overlap", 9: "duplicates"}


@pytest.mark.parametrize("names", [["overlap", "duplicates"], ["overlap"], []])
def test_every_dropped_pair_is_counted_by_its_filter(tmp_path, names):
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_text("in the test set\n", encoding="utf-8")
    target.write_text("Für  Test\n\n", encoding="utf-8")
    corpus = Corpus(**VALUES, cleaning=dict.fromkeys(names, True), held_out={"dev": 1})
    filters = Filters(corpus, "train", ([source], [target]))
    kept = list(filters.kept(PAIRS))
    assert kept == [pair for i, pair in enumerate(PAIRS) if DROPPED.get(i) not in names]
    dropped = {name: list(DROPPED.values()).count(name) for name in names}
    assert filters.counts == {"raw": len(PAIRS), "kept": len(kept), "dropped": dropped}


def test_every_so_many_th_pair_that_words_leave_is_dev():
    """As fairseq's prepare-iwslt14.sh: clean-corpus-n.perl, then awk's NR % 23."""
    good = [(f"This is sentence {n}.", f"Das ist Satz {n}.") for n in range(50)]
    bad = [
        ("", "leer"),
        ("It's one, two.", "Drei"),  # 6 words to 1
        ("a " * 11, "b " * 11),
        ("one two three four five", "eins zwei drei"),
    ]
    corpus = Corpus(**VALUES, cleaning={"words": [10, 1.5]}, dev_every=23)
    train, dev = (Filters(corpus, split, ((), ())) for split in ("train", "dev"))
    pairs = [pair for n, pair in enumerate(good) for pair in [*bad[n : n + 1], pair]]
    assert list(dev.kept(pairs)) == [good[22], good[45]]
    assert list(train.kept(pairs)) == [*good[:22], *good[23:45], *good[46:]]
    dropped = {"words": len(bad), "dev_every": 2}
    assert train.counts == {"raw": 54, "kept": 48, "dropped": dropped}
