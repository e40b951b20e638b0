"""Alignments from attention, from subwords to words."""

import pytest
import torch
from families import random_model, random_sentences

from nmt.decoding.alignment import align, word_links, words_of
from nmt.errors import UserError


def test_each_subword_knows_its_word():
    assert words_of(["▁a", "b", "▁c", "▁", "d"]) == [0, 0, 1, 2, 2]
    assert words_of(["a", "▁b"]) == [0, 1]
    assert words_of([]) == []


def test_links_join_words_once():
    links = word_links([0, 1, 1, 2], ["▁the", "▁big", "ger"], ["▁das", "▁größ", "ere", "▁x"])
    assert links == [(0, 0), (1, 1), (1, 2)]


class Named:
    """A model whose attention is known: maps of (1, H, T + 1, S + 1)."""

    def __init__(self, *maps):
        self.maps = maps

    def parameters(self):
        return iter([torch.zeros(1)])

    def attention(self, source, target_in):
        assert (target_in.shape[1], source.shape[1]) == self.maps[0].shape[2:]
        return {str(number): each for number, each in enumerate(self.maps)}


def test_it_is_the_likeliest_source_token_of_the_last_layer_but_one():
    right = torch.tensor([[[0.1, 0.6, 0.3], [0.2, 0.0, 0.8], [1, 0, 0]], [[0.1, 0.8, 0.1], [0.5, 0.4, 0.1], [1, 0, 0]]])
    wrong = torch.eye(3).expand(1, 2, 3, 3)
    assert align(Named(wrong, right[None], wrong), [[7, 8]], [[5, 6]]) == [[1, 0]]  # the third source token is EOS
    assert align(Named(right[None]), [[7, 8]], [[5, 6]]) == [[1, 0]]


@pytest.mark.parametrize("family", ["transformer", "decoder-only", "rnnsearch", "convs2s"])
def test_together_is_as_alone(family):
    model = random_model(family)
    sources, targets = random_sentences([5, 1, 9, 0]), random_sentences([3, 8, 0, 2], seed=1)
    together = align(model, sources, targets)
    assert [len(links) for links in together] == [3, 8, 0, 0]
    for source, target, links in zip(sources[:3], targets, together, strict=False):
        assert align(model, [source], [target]) == [links]


def test_without_attention_there_is_none():
    with pytest.raises(UserError, match="this model has no attention"):
        align(random_model("seq2seq"), [[5, 6]], [[7]])
