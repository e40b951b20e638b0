"""Encoding word by word, against encoding line by line."""

import random

import pytest
import sentencepiece

from nmt.configuration import Vocabulary
from nmt.text import encoder as module
from nmt.text.encoder import Encoder
from nmt.text.subwords import Subwords, learn

WORDS = [
    *["the", "quick", "fox", "über", "Hund", "springt", "a", "犬", "犬犬", "x犬y", "</s>", "<unk>"],
    *["\u3000", "a\u00a0b", "\x00", "\u2028", "\r", "", "", "quickfox" * 30],
]
RNG = random.Random(1)
LINES = ["", " ", "the", *(" ".join(RNG.choices(WORDS, k=RNG.randrange(9))) for _ in range(400))]

KINDS = {
    "bpe": {"size": 60},
    "unigram": {"size": 28},
    "char": {"size": 60},
    "word": {"size": 9},
    "wordpiece": {"size": 70},
    "bytes": {"kind": "bpe", "byte_fallback": True, "size": 320},
}


@pytest.fixture(params=KINDS)
def subwords(request, tmp_path):
    (tmp_path / "text").write_text("the quick fox\nüber den Hund springt\nx y a b\n" * 3)
    vocabulary = Vocabulary(**{"kind": request.param} | KINDS[request.param])
    (tmp_path / "model").write_bytes(learn(vocabulary, [tmp_path / "text"], 1))
    return Subwords.load(tmp_path / "model")


@pytest.mark.parametrize("marked", [[], ["▁ a▁b", "a ▁", "▁"]])
@pytest.mark.parametrize("most", [3, 10_000])
def test_lines_are_encoded_as_one_by_one(subwords, monkeypatch, most, marked):
    monkeypatch.setattr(module, "MOST_REMEMBERED", most)
    encode = Encoder(subwords)
    for _ in range(2):
        encoded = encode(LINES + marked)
        expected = subwords.encode(LINES + marked)
        assert encoded.lengths.tolist() == [len(ids) for ids in expected]
        assert encoded.tokens.tolist() == [token for ids in expected for token in ids]
    assert len(encode([]).lengths) == 0


@pytest.mark.parametrize(
    "words", [[f"w{number}" for number in range(9)], ["quickfox" * 30]], ids=["many", "long"]
)
def test_words_are_forgotten_before_they_fill_the_memory(tmp_path, monkeypatch, words):
    monkeypatch.setattr(module, "MOST_REMEMBERED", 20)
    (tmp_path / "text").write_text("the quick fox\n" * 3)
    encode = Encoder(Subwords(learn(Vocabulary(kind="char", size=30), [tmp_path / "text"], 1)))
    encode(words)
    assert encode.ids_of_words.keys() > set(words)
    encode(["the"])
    assert encode.ids_of_words.keys() == {"", "\n", "the"}


def test_subwords_across_spaces_are_found_in_whole_lines(tmp_path):
    with (tmp_path / "model").open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["the fox the fox the fox", "the dog"] * 5),
            model_writer=file,
            model_type="bpe",
            vocab_size=40,
            split_by_whitespace=False,
            hard_vocab_limit=False,
            minloglevel=2,
        )
    subwords = Subwords((tmp_path / "model").read_bytes())
    assert not subwords.words_are_independent
    lines = ["the fox the dog", "fox the"]
    expected = [token for ids in subwords.encode(lines) for token in ids]
    assert Encoder(subwords)(lines).tokens.tolist() == expected
