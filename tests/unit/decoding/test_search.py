"""Beam search over every family, against greedy steps, forced decoding and the whole tree."""

from itertools import product

import pytest
import torch
from families import FAMILIES, VOCABULARY, random_model, random_sentences, rows, sources

from nmt.configuration import Decoding
from nmt.decoding.search import length_penalty, search
from nmt.decoding.translator import translate_tokens
from nmt.models.protocol import BOS, EOS, PAD

LENGTHS = [5, 1, 9, 4]


@pytest.fixture(params=FAMILIES)
def model(request):
    return random_model(request.param)


def forced(model, source: torch.Tensor, tokens: list[int]) -> float:
    """Log probability of a translation and its EOS, by teacher forcing."""
    logits = model.output(model(source, torch.tensor([[BOS, *tokens]])).target)
    target = torch.tensor([[*tokens, EOS]])
    return logits.log_softmax(-1).gather(2, target[..., None]).sum().item()


@torch.no_grad()
def greedy(model, source: torch.Tensor, limit: int) -> list[int]:
    tokens: list[int] = []
    while len(tokens) < limit:
        logits = model.output(model(source, torch.tensor([[BOS, *tokens]])).target)[0, -1]
        logits[[PAD, BOS]] = -torch.inf
        token = int(logits.argmax())
        if token == EOS:
            break
        tokens.append(token)
    return tokens


def test_a_beam_of_one_is_greedy(model):
    sentences = random_sentences(LENGTHS)
    found = search(model, sources(sentences), [12] * 4, beam=1, alpha=0.6)
    assert [best.tokens for best in found] == [greedy(model, sources([s]), 12) for s in sentences]


def test_the_score_is_that_of_forced_decoding(model):
    sentences = random_sentences(LENGTHS)
    for sentence, best in zip(sentences, search(model, sources(sentences), [12] * 4, 4, 0.6), strict=True):
        assert best.log_probability == pytest.approx(forced(model, sources([sentence]), best.tokens), abs=1e-4)
        assert best.score == pytest.approx(best.log_probability / length_penalty(len(best.tokens) + 1, 0.6), rel=1e-6)


def test_batching_and_order_change_nothing(model):
    sentences = random_sentences([*LENGTHS, 0, 7, 7, 2])
    decoding = Decoding(beam=3, alpha=0.6, max_extra=6)

    def all_found(items):
        found = {}
        for numbers, hypotheses in translate_tokens(model, items, decoding):
            found.update(zip(numbers, hypotheses, strict=True))
        return [found[n] for n in range(len(items))]

    together = all_found(sentences)
    alone = [all_found([sentence])[0] for sentence in sentences]
    assert [best.tokens for best in together] == [best.tokens for best in alone]
    assert [best.score for best in together] == pytest.approx([best.score for best in alone], abs=1e-6)
    assert together[4].tokens == []


@pytest.mark.parametrize("alpha", [0.0, 0.6, 2.0])
@pytest.mark.parametrize("family", ["transformer", "rnnsearch"])
def test_a_beam_as_wide_as_the_tree_finds_the_best_of_all(family, alpha):
    limit, words = 3, [1, EOS + 1, EOS + 2]
    model = random_model(family, seed=5)
    source = sources(random_sentences([4]))
    allowed = torch.full((VOCABULARY,), -1e4, dtype=torch.float64)
    allowed[[EOS, *words]] = 0

    class Restricted:
        """The model with a vocabulary of three words, so that every translation can be tried."""

        encode, start = model.encode, model.start

        @staticmethod
        def step(tokens, state):
            log_probabilities, state = model.step(tokens, state)
            return (log_probabilities.double() + allowed).log_softmax(-1), state

    def score(tokens):
        logits = model.output(model(source, torch.tensor([[BOS, *tokens]])).target) + allowed
        steps = logits.log_softmax(-1).gather(2, torch.tensor([[*tokens, EOS]])[..., None])
        return steps.sum().item() / length_penalty(len(tokens) + 1, alpha)

    every = [tokens for n in range(limit + 1) for tokens in product(words, repeat=n)]
    best = max(every, key=score)
    (found,) = search(Restricted, source, [limit], beam=11, alpha=alpha)
    assert found.tokens == list(best)
    assert found.score == pytest.approx(score(best), abs=1e-5)


def test_no_translation_is_longer_than_its_limit(model):
    found = search(model, sources(random_sentences(LENGTHS)), [0, 1, 2, 3], beam=4, alpha=5.0)
    assert all(len(best.tokens) <= limit for best, limit in zip(found, range(4), strict=True))


def test_rows_helper_pads_behind():
    assert rows([[7], [8, 9]], last=(EOS,)).tolist() == [[7, EOS, PAD], [8, 9, EOS]]
