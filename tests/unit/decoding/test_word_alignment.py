"""Alignments from attention, from subwords to words."""

import pytest
import torch

from nmt.configuration import Vocabulary
from nmt.decoding.word_alignment import align, word_links, word_numbers
from nmt.errors import UserError
from nmt.files import write_lines
from nmt.text.subwords import learn, segmenter
from tests.support.families import random_model, random_sentences


class Pieces:
    """A small vocabulary; number 1 is the unknown symbol."""

    names = ("<pad>", "<unk>", "<s>", "</s>", "▁a", "b", "▁", "c")

    def __init__(self, unknown_is_a_word=False):
        self.unknown_is_a_word = unknown_is_a_word

    def pieces(self, tokens):
        return [self.names[token] for token in tokens]


def test_each_subword_knows_its_word():
    assert word_numbers([4, 5, 4, 6, 5], Pieces()) == [0, 0, 1, 2, 2]
    assert word_numbers([5, 4], Pieces()) == [0, 1]
    assert word_numbers([], Pieces()) == []


def test_an_unknown_word_is_a_word_and_an_unknown_letter_is_none():
    assert word_numbers([4, 1, 1, 4], Pieces(unknown_is_a_word=True)) == [0, 1, 2, 3]
    assert word_numbers([4, 1, 5, 4], Pieces()) == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("kind", "expected"), [("word", True), ("bpe", False), ("wordpiece", True)]
)
def test_vocabularies_say_what_their_unknown_symbol_is(tmp_path, kind, expected):
    text = tmp_path / "text"
    write_lines(text, ["the old man sees a dog", "the dog sees the man"])
    vocabulary = Vocabulary(size=12 if kind == "word" else 37, kind=kind)
    subwords = segmenter(learn(vocabulary, [text], jobs=1))
    (tokens,) = subwords.encode(["the ÜÄ sees"])
    assert subwords.unknown_is_a_word == expected
    assert word_numbers(tokens, subwords)[-1] == 2


def test_links_join_words_once():
    assert word_links([0, 1, 1, 2], [0, 1, 1], [0, 1, 1, 2]) == [(0, 0), (1, 1), (1, 2)]


class FixedAttention:
    """A model whose attention is known: maps of (1, H, T + 1, S + 1)."""

    def __init__(self, *maps):
        self.maps = maps

    def parameters(self):
        return iter([torch.zeros(1)])

    def attention(self, source, target):
        assert (target.tokens.shape[1], source.tokens.shape[1]) == self.maps[0].shape[2:]
        return {str(number): weights for number, weights in enumerate(self.maps)}


def test_it_is_the_most_attended_source_token_of_the_last_layer_but_one():
    heads = [
        [[0.1, 0.6, 0.3], [0.2, 0.0, 0.8], [1, 0, 0]],
        [[0.1, 0.8, 0.1], [0.5, 0.4, 0.1], [1, 0, 0]],
    ]
    right = torch.tensor([heads])
    wrong = torch.eye(3).expand(1, 2, 3, 3)
    # The third source token is EOS.
    assert align(FixedAttention(wrong, right, wrong), [[7, 8]], [[5, 6]]) == [[1, 0]]
    assert align(FixedAttention(right), [[7, 8]], [[5, 6]]) == [[1, 0]]


@pytest.mark.parametrize("family", ["transformer", "decoder-only", "rnnsearch", "convs2s"])
def test_batching_changes_nothing(family):
    model = random_model(family)
    sources = random_sentences([5, 1, 9, 0])
    targets = random_sentences([3, 8, 0, 2], seed=1)
    batched = align(model, sources, targets)
    assert [len(links) for links in batched] == [3, 8, 0, 0]
    for source, target, links in zip(sources[:3], targets[:3], batched[:3], strict=True):
        assert align(model, [source], [target]) == [links]


def test_without_attention_there_is_none():
    with pytest.raises(UserError, match="this model has no attention"):
        align(random_model("seq2seq"), [[5, 6]], [[7]])
