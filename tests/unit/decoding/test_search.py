"""Beam search over every family, against greedy steps, forced decoding and a plain search."""

import pytest
import torch

from nmt.configuration import Decoding
from nmt.decoding import translator
from nmt.decoding.forced import force
from nmt.decoding.search import REPEATS, length_penalty, search
from nmt.decoding.translator import cut, in_order, length_limits, translate_tokens
from nmt.errors import UserError
from nmt.models.protocol import BOS, EOS, PAD
from tests.support.families import (
    FAMILIES,
    VOCABULARY,
    random_model,
    random_sentences,
    sources,
    target_inputs,
)

LENGTHS = [5, 1, 9, 4]
LIMITS = [12] * 4


@pytest.fixture(params=FAMILIES)
def model(request):
    return random_model(request.param)


@pytest.fixture(autouse=True, params=[0, 4])
def repeats(request, monkeypatch):
    monkeypatch.setitem(REPEATS, "cpu", request.param)


@torch.no_grad()
def greedy(model, source: torch.Tensor, limit: int) -> list[int]:
    tokens: list[int] = []
    while len(tokens) < limit:
        logits = model.output(model(source, target_inputs([tokens])).target)[0, -1]
        logits[[PAD, BOS]] = -torch.inf
        token = int(logits.argmax())
        if token == EOS:
            break
        tokens.append(token)
    return tokens


def test_a_beam_of_one_is_greedy(model):
    sentences = random_sentences(LENGTHS)
    expected = [greedy(model, sources([sentence]), 12) for sentence in sentences]
    hypotheses = search(model, sources(sentences), LIMITS, Decoding(beam=1))
    assert [best.tokens for (best,) in hypotheses] == expected


def test_the_score_is_that_of_forced_decoding(model):
    sentences = random_sentences(LENGTHS)
    n_best = search(model, sources(sentences), LIMITS, Decoding(), 3)
    for sentence, hypotheses in zip(sentences, n_best, strict=True):
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True)
        for hypothesis in hypotheses:
            ((forced,),) = force(model, sources([sentence]), [hypothesis.tokens], Decoding())
            assert hypothesis.log_prob == pytest.approx(forced.log_prob, abs=1e-9)
            penalty = ((6 + len(hypothesis.tokens)) / 6) ** 0.6
            assert hypothesis.score == pytest.approx(hypothesis.log_prob / penalty, abs=1e-9)


def test_long_lines_are_cut_and_named(caplog):
    short, long = random_sentences([5, 200])
    assert cut([short, long], 62, "source", first_line=4001) == [short, long[:62]]
    assert "source" in caplog.text
    assert "4002" in caplog.text
    caplog.clear()
    cut([long] * 12, 62, "target", first_line=1)
    assert "1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more" in caplog.text
    caplog.clear()
    assert cut([short], 5, "source", first_line=1) == [short]
    assert not caplog.messages


@pytest.mark.parametrize("family", ["transformer-learned", "decoder-only-learned"])
def test_translations_stay_within_learned_positions(family):
    model = random_model(family)
    limit = model.reach
    assert limit == {"transformer-learned": 1023, "decoder-only-learned": 510}[family]
    short, long = random_sentences([5, 2000])
    assert length_limits(model, [short, long[:limit]], [0, 1], Decoding()) == [55, limit]
    model(sources([long[:limit]]), target_inputs([long[:limit]]))
    with pytest.raises(UserError, match=r"does not fit the \d+ learned positions"):
        model(sources([long[: limit + 1]]), target_inputs([long[: limit + 1]]))


def test_a_batch_that_is_too_large_for_a_gpu_is_halved(monkeypatch):
    def small(model, source, *rest):
        if len(source.tokens) > most:
            raise torch.OutOfMemoryError
        return search(model, source, *rest)

    model, sentences = random_model("transformer"), random_sentences([3, 8, 1, 5, 5])
    whole = in_order(translate_tokens(model, sentences, Decoding()), 5)
    monkeypatch.setattr(translator, "search", small)
    most = 2
    halved = in_order(translate_tokens(model, sentences, Decoding()), 5)
    assert [best.tokens for (best,) in halved] == [best.tokens for (best,) in whole]
    most = 0
    with pytest.raises(UserError, match="1 sentence"):
        in_order(translate_tokens(model, sentences, Decoding()), 5)


def test_log_probabilities_that_are_nan_are_an_error(model):
    next(iter(model.output.parameters())).data.fill_(torch.nan)
    with pytest.raises(UserError, match="log probabilities that are NaN"):
        search(model, sources([[5, 6]]), [4], Decoding(beam=2))


@pytest.mark.parametrize(("dtype", "accuracy"), [(torch.float64, 1e-12), (torch.float32, 1e-4)])
def test_batching_and_order_change_nothing(model, dtype, accuracy):
    model = model.to(dtype)
    sentences = random_sentences([*LENGTHS, 0, 7, 7, 2])
    decoding = Decoding(beam=3, alpha=0.6, max_extra=6)

    def translate_all(items):
        return in_order(translate_tokens(model, items, decoding), len(items))

    batched = [best for (best,) in translate_all(sentences)]
    alone = [best for sentence in sentences for (best,) in translate_all([sentence])]
    assert [best.tokens for best in batched] == [best.tokens for best in alone]
    scores = [best.score for best in alone]
    assert [best.score for best in batched] == pytest.approx(scores, abs=accuracy)
    assert batched[4].tokens == []


class ThreeWords:
    """A model with a vocabulary of three words, so few that all continuations can be tried."""

    words = (1, EOS + 1, EOS + 2)
    repeatable = True

    def __init__(self, family: str, seed: int):
        self.model = random_model(family, seed)
        self.start = self.model.start
        self.step = self.model.step
        self.source = sources(random_sentences([4], seed))
        self.allowed = torch.full((VOCABULARY,), -1e4, dtype=torch.float64)
        self.allowed[[EOS, *self.words]] = 0

    def output(self, hidden: torch.Tensor) -> torch.Tensor:
        return (self.model.output(hidden) + self.allowed).log_softmax(-1)

    @torch.no_grad()
    def next_log_probs(self, tokens: tuple[int, ...]) -> dict[int, float]:
        """Return the log probabilities of the tokens that may come next."""
        hidden = self.model(self.source, target_inputs([tokens])).target[0, -1]
        log_probs = self.output(hidden).tolist()
        return {token: log_probs[token] for token in (EOS, *self.words)}


PENALTIES = [("wu", 0.6), ("wu", 2.0), ("power", 1.0), ("power", 0.0)]


def never_stopping(
    model: ThreeWords, limit: int, decoding: Decoding
) -> list[tuple[float, tuple[int, ...]]]:
    """Return scores and tokens, best first, of a beam search that always goes on to the limit."""
    unfinished = [(0.0, ())]
    finished = []
    for length in range(1, limit + 2):
        candidates = [
            (log_prob + step_log_prob, tokens, token)
            for log_prob, tokens in unfinished
            for token, step_log_prob in model.next_log_probs(tokens).items()
            if length <= limit or token == EOS
        ]
        candidates = sorted(candidates, reverse=True)[: 2 * decoding.beam]
        finished += [
            (log_prob / length_penalty(length, decoding), tokens)
            for log_prob, tokens, token in candidates[: decoding.beam]
            if token == EOS
        ]
        continued = [
            (log_prob, (*tokens, token)) for log_prob, tokens, token in candidates if token != EOS
        ]
        unfinished = continued[: decoding.beam]
    return sorted(finished, reverse=True)


@pytest.mark.parametrize("seed", range(4))
# A beam of 36 has room for all prefixes of three words.
@pytest.mark.parametrize(("beam", "limit"), [(2, 6), (3, 6), (36, 3)])
@pytest.mark.parametrize(("penalty", "alpha"), PENALTIES)
def test_stopping_early_loses_nothing(penalty, alpha, beam, limit, seed):
    decoding = Decoding(beam=beam, penalty=penalty, alpha=alpha)
    model = ThreeWords("transformer", seed)
    for n_best in (1, beam):
        (hypotheses,) = search(model, model.source, [limit], decoding, n_best)
        expected = never_stopping(model, limit, decoding)[:n_best]
        tokens = [tuple(hypothesis.tokens) for hypothesis in hypotheses]
        assert tokens == [tokens for _, tokens in expected]
        scores = [score for score, _ in expected]
        assert [hypothesis.score for hypothesis in hypotheses] == pytest.approx(scores, abs=1e-9)


def test_no_translation_is_longer_than_its_limit(model):
    limits = [0, 1, 2, 3]
    decoding = Decoding(beam=4, alpha=5.0)
    n_best = search(model, sources(random_sentences(LENGTHS)), limits, decoding, n_best=4)
    for limit, hypotheses in zip(limits, n_best, strict=True):
        assert all(len(hypothesis.tokens) <= limit for hypothesis in hypotheses)
