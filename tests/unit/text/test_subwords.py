"""Vocabularies of all kinds: learning, loading, encoding and decoding."""

import json
import math
import re
from collections import Counter
from itertools import chain, pairwise

import pytest

from nmt.configuration import Vocabulary
from nmt.errors import UserError
from nmt.text import chunks
from nmt.text import subwords as module
from nmt.text.subwords import (
    BOS,
    EOS,
    PAD,
    UNK,
    SubwordPair,
    Subwords,
    as_bytes,
    learn,
    segmenter,
    write_subwords,
)
from nmt.text.wordpieces import WordPieces

LINES = [
    "the quick brown fox jumps over the lazy dog",
    "der schnelle braune Fuchs springt über den faulen Hund",
    "the dogs are quicker than the foxes",
    "die Hunde sind schneller als die Füchse",
    "",
    "<s> 3 < 4 </s> & <unk> “quoted” ﬁne ½",
] * 3


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text"
    path.write_text("".join(f"{line}\n" for line in LINES), encoding="utf-8")
    return path


def learn_bpe(text, size=120, jobs=1):
    return learn(Vocabulary(size=size), [text], jobs)


def test_text_survives_encoding_and_decoding(text):
    subwords = Subwords(learn_bpe(text))
    ids = subwords.encode(LINES)
    assert [subwords.decode(sequence) for sequence in ids] == LINES
    assert ids[LINES.index("")] == []
    assert set().union(*ids).isdisjoint({PAD, UNK, BOS, EOS})
    assert subwords.size == 120
    assert max(max(sequence, default=0) for sequence in ids) < 120


def test_of_text_beyond_the_limit_lines_are_left_out(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_text("".join(f"{number:b} {number * 7:b}\n" for number in range(1000)))
    of_all_lines = learn_bpe(path, size=60)
    path.with_name("third").write_text("".join(f"{n:b} {n * 7:b}\n" for n in range(0, 1000, 3)))
    of_every_third = learn_bpe(path.with_name("third"), size=60)
    monkeypatch.setattr(module, "MAX_LINES", 334)
    monkeypatch.setattr(chunks, "CHUNK", 50)
    of_sample = learn_bpe(path, size=60)
    assert of_sample == learn_bpe(path, size=60, jobs=2)
    for other, same in ((of_every_third, True), (of_all_lines, False)):
        assert (pieces(other) == pieces(of_sample)) == same


def pieces(model):
    subwords = Subwords(model)
    return subwords.pieces(list(range(subwords.size)))


def test_rare_characters_of_a_large_text_are_left_out(text, monkeypatch):
    monkeypatch.setattr(module, "CHARACTERS_PER_RAREST", 50)
    subwords = Subwords(learn_bpe(text, size=60))
    assert subwords.encode(["½"])[0][-1] == UNK
    assert UNK not in subwords.encode(["the"])[0]


def test_a_long_line_is_not_dropped(tmp_path):
    path = tmp_path / "text"
    path.write_text("a b " * 10_000 + "ж\n", encoding="utf-8")
    for kind in ("bpe", "unigram"):
        subwords = Subwords(learn(Vocabulary(kind=kind, size=8), [path], 1))
        assert UNK not in subwords.encode(["ж a"])[0]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "wordpiece"])
@pytest.mark.parametrize("size", [10, 5000])
def test_a_size_that_does_not_fit_the_text_is_one_sentence(text, kind, size):
    with pytest.raises(UserError, match=f"vocabulary of {size} ") as error:
        learn(Vocabulary(kind=kind, size=size), [text], 1)
    assert str(error.value).count("\n") == 0


def test_a_vocabulary_larger_than_the_text_supports_names_the_largest_possible(text):
    with pytest.raises(UserError) as error:
        learn_bpe(text, size=5000)
    largest = int(re.findall(r"\d+", str(error.value))[-1])
    assert Subwords(learn_bpe(text, size=largest)).size == largest


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_no_text_is_an_error(tmp_path, content):
    path = tmp_path / "text"
    path.write_text(content)
    with pytest.raises(UserError, match="no text"):
        learn_bpe(path)


def neighbors(words):
    return Counter(pair for word in words for pair in pairwise(word))


def gains_of_whole_text(words):
    """Join each pair in turn and compare the text's log-likelihood under a unigram model."""

    def log_likelihood(text):
        counts = Counter(chain.from_iterable(text))
        return sum(n * math.log(n / counts.total()) for n in counts.values())

    before = log_likelihood(words)
    return {
        pair: round(log_likelihood([joined(word, pair) for word in words]) - before, 3)
        for pair in neighbors(words)
    }


def ratios(words):
    counts = Counter(chain.from_iterable(words))
    return {(a, b): n / (counts[a] * counts[b]) for (a, b), n in neighbors(words).items()}


def joined(word, pair):
    for at in range(len(word) - 1):
        if word[at : at + 2] == pair:
            return joined((*word[:at], pair[0] + pair[1], *word[at + 2 :]), pair)
    return word


@pytest.mark.parametrize(
    ("kind", "scores_of"),
    [("wordpiece", gains_of_whole_text), ("wordpiece-ratio", ratios), ("greedy-bpe", neighbors)],
)
def test_each_join_is_the_best_by_a_count_of_the_whole_text(tmp_path, kind, scores_of):
    """Only its score: of equal ones any may come first."""
    text = "low low low lower lowest newer newer wider newest new bananas banana"
    (tmp_path / "text").write_text(f"{text}\n")
    alphabet = 2 * len(set(text) - {" "}) + 4
    words = [(f"▁{word[0]}", *word[1:]) for word in text.split()]
    for size in range(alphabet + 1, alphabet + 9):
        learned = segmenter(learn(Vocabulary(kind=kind, size=size), [tmp_path / "text"], 1))
        [piece] = learned.pieces([size - 1])
        scores = scores_of(words)
        made = {pair: scores[pair] for pair in scores if "".join(pair) == piece}
        assert max(made.values()) == pytest.approx(max(scores.values()), abs=2e-3)
        words = [joined(word, max(made, key=made.get)) for word in words]


def test_bytes_are_written_as_a_lecture_prints_them(text):
    """NPFL138, lecture 9: byte-level BPE learned from English, and from Czech."""
    phrase, spelled = "Přelétavý motýlek", as_bytes("Přelétavý motýlek").replace(" ", "Ġ")
    for printed in (
        ["P", "Å", "Ļ", "el", "Ã©t", "av", "Ã", "½", "Ġmot", "Ã", "½", "le", "k"],
        ["PÅĻe", "lÃ©t", "avÃ½", "ĠmotÃ½", "lek"],
    ):
        assert "".join(printed) == spelled
    [ids] = segmenter(learn(Vocabulary(kind="bytes", size=260), [text], 1)).encode([phrase])
    assert bytes(token - 4 for token in ids).decode() == phrase
    subwords = segmenter(learn(Vocabulary(kind="byte-bpe", size=300), [text], 1))
    [ids] = subwords.encode([phrase])
    assert "".join(subwords.pieces(ids)) == "▁" + as_bytes(phrase).replace(" ", "▁")
    assert subwords.decode(ids[:2] + ids[3:]).startswith("P\ufffd")


def test_symbols_and_marks_in_a_text_are_word_pieces_like_others(tmp_path):
    line = "the </s> cat <pad>x <s> <unk> ## a##b ##x"
    (tmp_path / "text").write_text(50 * f"{line}\n")
    subwords = segmenter(learn(Vocabulary(kind="wordpiece", size=50), [tmp_path / "text"], 1))
    [ids] = subwords.encode([line])
    assert not {PAD, UNK, BOS, EOS} & set(ids)
    assert subwords.decode(ids) == line


def test_of_a_stranger_s_word_pieces_only_the_pieces_are_taken(text, tmp_path):
    model = json.loads(learn(Vocabulary(kind="wordpiece", size=140), [text], 1))
    expected = WordPieces(json.dumps(model).encode()).encode(["the quick fox"])
    padding = {"strategy": {"Fixed": 10**4}, "direction": "Right", "pad_to_multiple_of": None}
    model["padding"] = padding | {"pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"}
    assert WordPieces(json.dumps(model).encode()).encode(["the quick fox"]) == expected
    for vocab in ({"a": 10**12}, {"a": 0, "b": 0}, {"a": "0"}, ["a"]):
        model["model"]["vocab"] = vocab
        write_subwords(tmp_path, 2 * [json.dumps(model).encode()])
        with pytest.raises(UserError, match=str(tmp_path)):
            SubwordPair.load(tmp_path)


KINDS = {
    "bpe": {},
    "unigram": {"size": 60},
    "char": {"size": 60},
    "word": {"size": 40},
    "wordpiece": {"size": 140},
    "wordpiece-ratio": {"size": 140},
    "greedy-bpe": {"size": 140},
    "byte-bpe": {"size": 300},
    "bytes": {"size": 260},
    "byte_fallback": {"kind": "bpe", "byte_fallback": True, "size": 400},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_deterministic_and_decodes_what_it_encodes(text, kind):
    vocabulary = Vocabulary(**{"kind": kind, "size": 120} | KINDS[kind])
    model = learn(vocabulary, [text], 1)
    assert learn(vocabulary, [text], 2) == model
    subwords = segmenter(model)
    line = "the quick fox über den Hund"
    [ids] = subwords.encode([line])
    assert subwords.decode(ids) == line
    if not kind.startswith("byte"):
        assert "".join(subwords.pieces(ids)).replace("▁", " ").strip() == line
    assert subwords.decode([BOS, *ids, EOS, PAD]) == line
    assert subwords.size <= vocabulary.size
    [unknown] = subwords.encode(["the 犬"])
    has_bytes = kind.startswith("byte")
    assert (UNK in unknown) == (not has_bytes)
    assert subwords.decode(unknown).split() == ["the", "犬" if has_bytes else "⁇"]
    assert subwords.encode([""]) == [[]]
