"""Pairs that are held out of training text."""

import pytest

from nmt.configuration import Corpus
from nmt.errors import UserError
from nmt.files import write_lines
from nmt.text.corpora import sentence_pairs

SENTENCES = [(f"sentence {number}", f"Satz {number}") for number in range(600)]


@pytest.fixture
def own(tmp_path):
    """own(pairs, **changes) is split -> its pairs, of a corpus that has the pairs as files."""
    part = {"source": f"{tmp_path}/train.en", "target": f"{tmp_path}/train.de"}
    values = {"title": "Own", "source": "en", "target": "de", "license": "mine"}
    values |= {"splits": {"train": [part]}, "held_out": {"dev": 40, "test": 20}}

    def make(pairs, **changes):
        for path, side in zip(part.values(), zip(*pairs, strict=True), strict=True):
            write_lines(path, side)
        corpus = Corpus(**values | changes)
        return lambda split: list(sentence_pairs(corpus, split, tmp_path))

    return make


def test_what_is_held_out_is_not_trained_on(own):
    """Check duplicates too: no copy of a held-out pair may stay."""
    pairs = [*SENTENCES, *SENTENCES[::2], ("", "leer"), ("empty", "")]
    train, dev, test = map(own(pairs), ("train", "dev", "test"))
    assert (len(set(dev)), len(dev), len(set(test)), len(test)) == (40, 40, 20, 20)
    assert not set(dev) & set(test)
    held_out = {*dev, *test}
    assert train == [pair for pair in pairs if pair not in held_out]
    assert all(map(all, held_out))


def test_the_choice_is_random_and_hardly_changes_with_the_text(own):
    dev = own(SENTENCES)("dev")
    assert own(SENTENCES[::-1])("dev") == dev[::-1]
    assert 0.3 < sum(map(SENTENCES.index, dev)) / 40 / len(SENTENCES) < 0.7
    assert len(set(own(SENTENCES[:-60])("dev")) & set(dev)) > 30
    assert own(SENTENCES, held_out={"dev": 40, "more": 100})("dev") == dev


def test_dev_and_test_sets_may_be_files(own, tmp_path):
    write_lines(tmp_path / "dev.tsv", ["a\tb", "c\td"])
    path = f"{tmp_path}/dev.tsv"
    splits = {
        "train": [{"source": f"{tmp_path}/train.en", "target": f"{tmp_path}/train.de"}],
        "dev": [{"source": path, "target": path, "format": "tsv"}],
    }
    split = own(SENTENCES, splits=splits, held_out={"test": 20})
    assert split("dev") == [("a", "b"), ("c", "d")]
    assert len(split("train")) == len(SENTENCES) - 20
    assert own(SENTENCES, splits=splits, held_out={})("train") == SENTENCES


def test_too_few_pairs_are_an_error(own):
    with pytest.raises(UserError, match="held_out: 60 pairs"):
        own(SENTENCES[:60])("dev")
