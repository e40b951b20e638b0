"""Beam search over every family, against greedy steps, forced decoding and the whole tree."""

from itertools import product

import pytest
import torch
from families import FAMILIES, VOCABULARY, random_model, random_sentences, rows, sources

from nmt.configuration import Decoding
from nmt.decoding.search import length_penalty, search, top_k
from nmt.decoding.translator import fitted, translate_tokens
from nmt.models.positions import reach
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
    found = search(model, sources(sentences), [12] * 4, Decoding(beam=1))
    assert [best.tokens for (best,) in found] == [
        greedy(model, sources([s]), 12) for s in sentences
    ]


def test_the_score_is_that_of_forced_decoding(model):
    sentences = random_sentences(LENGTHS)
    for sentence, found in zip(
        sentences, search(model, sources(sentences), [12] * 4, Decoding(), 3), strict=True
    ):
        assert [each.score for each in found] == sorted(
            (each.score for each in found), reverse=True
        )
        for each in found:
            assert each.log_prob == pytest.approx(
                forced(model, sources([sentence]), each.tokens), abs=1e-9
            )
            assert each.score == pytest.approx(
                each.log_prob / ((6 + len(each.tokens)) / 6) ** 0.6, abs=1e-9
            )


@pytest.mark.parametrize("family", ["transformer-learned", "decoder-only-learned"])
def test_what_is_longer_than_the_positions_is_cut(family, caplog):
    model, decoding = random_model(family), Decoding(beam=2, max_extra=50)
    short, long = random_sentences([5, 200])
    found, most = {}, reach(model)
    cut = fitted(model, [short, long])
    assert cut == [short, long[:most]]
    for numbers, hypotheses in translate_tokens(model, cut, decoding):
        found.update(zip(numbers, hypotheses, strict=True))
    assert most == {"transformer-learned": 62, "decoder-only-learned": 62}[family]
    assert (
        f"1 source is longer than the model's learned positions: only the first {most} subwords"
        in caplog.text
    )
    assert (
        found[1][0].tokens == search(model, sources([long[:most]]), [most], decoding)[0][0].tokens
    )
    assert (
        found[0][0].tokens
        == search(model, sources([short]), [min(55, most)], decoding)[0][0].tokens
    )


@pytest.mark.parametrize(("dtype", "accuracy"), [(torch.float64, 1e-12), (torch.float32, 1e-4)])
def test_batching_and_order_change_nothing(model, dtype, accuracy):
    model = model.to(dtype)
    sentences = random_sentences([*LENGTHS, 0, 7, 7, 2])
    decoding = Decoding(beam=3, alpha=0.6, max_extra=6)

    def all_found(items):
        found = {}
        for numbers, hypotheses in translate_tokens(model, items, decoding):
            found.update(zip(numbers, hypotheses, strict=True))
        return [found[n] for n in range(len(items))]

    together = all_found(sentences)
    alone = [all_found([sentence])[0] for sentence in sentences]
    assert [best.tokens for (best,) in together] == [best.tokens for (best,) in alone]
    assert [best.score for (best,) in together] == pytest.approx(
        [best.score for (best,) in alone], abs=accuracy
    )
    assert together[4][0].tokens == []


class ThreeWords:
    """A model with a vocabulary of three words, so that every translation can be tried."""

    words = (1, EOS + 1, EOS + 2)

    def __init__(self, family: str, seed: int):
        self.model = random_model(family, seed)
        self.encode, self.start, self.step = self.model.encode, self.model.start, self.model.step
        self.source = sources(random_sentences([4], seed))
        self.allowed = torch.full((VOCABULARY,), -1e4, dtype=torch.float64)
        self.allowed[[EOS, *self.words]] = 0

    def output(self, hidden: torch.Tensor) -> torch.Tensor:
        return (self.model.output(hidden) + self.allowed).log_softmax(-1)

    @torch.no_grad()
    def following(self, tokens: tuple[int, ...]) -> dict[int, float]:
        """Log probabilities of what may come next."""
        hidden = self.model(self.source, torch.tensor([[BOS, *tokens]])).target[0, -1]
        steps = self.output(hidden).tolist()
        return {token: steps[token] for token in (EOS, *self.words)}


PENALTIES = [("wu", 0.6), ("wu", 2.0), ("power", 1.0), ("none", 0.0)]


@pytest.mark.parametrize(("penalty", "alpha"), PENALTIES)
@pytest.mark.parametrize("seed", [5, 6])
@pytest.mark.parametrize("family", ["transformer", "rnnsearch"])
def test_a_beam_as_wide_as_the_tree_finds_the_best_of_all(family, seed, penalty, alpha):
    # Of three words, 27 prefixes are open in the end, with 4 continuations each while there is
    # room: none is cut off.
    limit, decoding = 3, Decoding(beam=36, penalty=penalty, alpha=alpha)
    model = ThreeWords(family, seed)

    def score(tokens):
        steps = [
            model.following(tokens[:place])[token] for place, token in enumerate((*tokens, EOS))
        ]
        return sum(steps) / length_penalty(len(steps), decoding)

    every = [tokens for n in range(limit + 1) for tokens in product(model.words, repeat=n)]
    best = sorted(every, key=score, reverse=True)[:3]
    (found,) = search(model, model.source, [limit], decoding, n_best=3)
    assert [each.tokens for each in found] == [list(tokens) for tokens in best]
    assert [each.score for each in found] == pytest.approx(
        [score(tokens) for tokens in best], abs=1e-9
    )


def never_stopping(
    model: ThreeWords, limit: int, decoding: Decoding
) -> list[tuple[float, tuple[int, ...]]]:
    """Beam search that goes on until the limit, whatever is finished: scores and tokens, the best
    first.
    """
    open_ones, finished = [(0.0, ())], []
    for length in range(1, limit + 2):
        every = [
            (so_far + step, tokens, token)
            for so_far, tokens in open_ones
            for token, step in model.following(tokens).items()
            if length <= limit or token == EOS
        ]
        every = sorted(every, reverse=True)[: 2 * decoding.beam]
        ended = [
            (total / length_penalty(length, decoding), tokens)
            for total, tokens, token in every[: decoding.beam]
        ]
        finished += [one for one, (_, _, token) in zip(ended, every, strict=False) if token == EOS]
        open_ones = [(total, (*tokens, token)) for total, tokens, token in every if token != EOS][
            : decoding.beam
        ]
    return sorted(finished, reverse=True)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("beam", [2, 3])
@pytest.mark.parametrize(("penalty", "alpha"), PENALTIES)
def test_stopping_early_loses_nothing(penalty, alpha, beam, seed):
    decoding, model = (
        Decoding(beam=beam, penalty=penalty, alpha=alpha),
        ThreeWords("transformer", seed),
    )
    for n_best in (1, beam):
        (found,) = search(model, model.source, [6], decoding, n_best)
        expected = never_stopping(model, 6, decoding)[:n_best]
        assert [tuple(each.tokens) for each in found] == [tokens for _, tokens in expected]
        assert [each.score for each in found] == pytest.approx(
            [score for score, _ in expected], abs=1e-9
        )


def test_the_looser_rule_stops_at_as_many_as_the_beam():
    """A model that ends with a little more than 1 in 4 at each step: four are soon finished."""

    class Even(ThreeWords):
        def output(self, hidden):
            logits = self.allowed + 0.1 * (torch.arange(VOCABULARY) == EOS)
            return logits.expand(len(hidden), -1).log_softmax(-1)

    model = Even("transformer", seed=0)
    longest = {}
    for stop in ("beam", "exact"):
        decoding = Decoding(beam=4, penalty="power", alpha=3.0, stop=stop)
        (found,) = search(model, model.source, [12], decoding, n_best=4)
        longest[stop] = max(len(each.tokens) for each in found)
    assert longest["beam"] <= 4 < longest["exact"]


def test_no_translation_is_longer_than_its_limit(model):
    found = search(
        model,
        sources(random_sentences(LENGTHS)),
        [0, 1, 2, 3],
        Decoding(beam=4, alpha=5.0),
        n_best=4,
    )
    assert all(
        len(each.tokens) <= limit
        for of_one, limit in zip(found, range(4), strict=True)
        for each in of_one
    )


def test_rows_helper_pads_behind():
    assert rows([[7], [8, 9]], last=(EOS,)).tolist() == [[7, EOS, PAD], [8, 9, EOS]]


@pytest.mark.parametrize("size", [1, 2, 7, 8, 9, 31, 100, 8009])
def test_the_largest_are_those_of_topk(size):
    x = torch.randn(5, size, generator=torch.Generator().manual_seed(size))
    for count in {1, min(2, size), min(8, size), size}:
        for found, expected in zip(top_k(x, count), x.topk(count), strict=True):
            assert torch.equal(found, expected)
