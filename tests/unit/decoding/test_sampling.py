"""Sampling: where the distribution is cut, how often a token is drawn; and forced decoding."""

import pytest
import torch

from nmt.configuration import Decoding
from nmt.decoding.forced import force
from nmt.decoding.sampling import Sampling, draw_tokens, sample
from nmt.decoding.search import search
from nmt.decoding.translator import in_order, sample_tokens
from nmt.errors import UserError
from nmt.models.protocol import BOS, EOS, PAD
from tests.support.families import FAMILIES, random_model, random_sentences, sources, target_inputs

LENGTHS = [5, 1, 9, 4]
LIMITS = [12] * 4


@pytest.fixture(params=["transformer", "decoder-only", "rnnsearch", "convs2s"])
def model(request):
    return random_model(request.param)


def draw_samples(model, sampling: Sampling, samples: int):
    source = sources(random_sentences(LENGTHS))
    return sample(model, source, [0, 1, 2, 3], LIMITS, Decoding(), sampling, samples)


@pytest.mark.parametrize(
    "sampling", [Sampling(top_k=1), Sampling(top_p=1e-9), Sampling(temperature=1e-6)]
)
def test_only_the_most_probable_token_is_greedy_search(model, sampling):
    greedy = search(model, sources(random_sentences(LENGTHS)), LIMITS, Decoding(beam=1))
    for (best,), samples in zip(greedy, draw_samples(model, sampling, 3), strict=True):
        assert [hypothesis.tokens for hypothesis in samples] == 3 * [best.tokens]
        assert samples[0].log_prob == pytest.approx(best.log_prob, abs=1e-9)


def test_log_probabilities_that_are_nan_are_an_error(model):
    next(iter(model.output.parameters())).data.fill_(torch.nan)
    with pytest.raises(UserError, match="log probabilities that are NaN"):
        draw_samples(model, Sampling(), 2)
    with pytest.raises(UserError, match="log probabilities that are NaN"):
        force(model, sources([[5, 6]]), [[7]], Decoding())


def test_scores_are_those_of_forced_decoding(model):
    source = sources(random_sentences(LENGTHS))
    samples = draw_samples(model, Sampling(top_k=5), 4)
    for number in range(4):
        hypotheses = [of_sentence[number] for of_sentence in samples]
        targets = [hypothesis.tokens for hypothesis in hypotheses]
        forced = force(model, source, targets, Decoding())
        for hypothesis, (same,) in zip(hypotheses, forced, strict=True):
            assert hypothesis.tokens == same.tokens
            assert hypothesis.log_prob == pytest.approx(same.log_prob, abs=1e-9)
            assert hypothesis.score == pytest.approx(same.score, abs=1e-9)


def test_batching_and_order_change_nothing(model):
    sentences = random_sentences([*LENGTHS, 0, 7, 7])

    def sample_all(items):
        batches = sample_tokens(model, items, Decoding(max_extra=6), Sampling(), samples=2)
        return in_order(batches, len(items))

    batched = sample_all(sentences)
    for number in range(len(sentences)):
        alone = sample_all(
            [sentence if n == number else [] for n, sentence in enumerate(sentences)]
        )
        alone_tokens = [hypothesis.tokens for hypothesis in alone[number]]
        assert alone_tokens == [hypothesis.tokens for hypothesis in batched[number]]
    assert sample_all(sentences) == batched


LOGITS = torch.tensor(
    [0.0, 1.0, 0.0, 2.0, 0.5, 1.5, -1.0, 0.2, -torch.inf, 0.1], dtype=torch.float64
)


def fixed_output(hidden: torch.Tensor) -> torch.Tensor:
    """Return the same distribution over ten tokens for every row."""
    return LOGITS.expand(len(hidden), -1)


@pytest.mark.parametrize(
    ("sampling", "kept"),
    [
        (Sampling(), {1, 3, 4, 5, 6, 7, 9}),
        (Sampling(temperature=0.5), {1, 3, 4, 5, 6, 7, 9}),
        (Sampling(top_k=3), {3, 5, 1}),
        (Sampling(top_p=0.5), {3, 5}),
        (Sampling(top_p=0.5, top_k=1), {3}),
    ],
)
def test_tokens_are_as_frequent_as_they_are_probable(sampling, kept):
    count = 20_000
    # Evenly spaced, as random draws are in the long run
    draws = (torch.arange(count, dtype=torch.float64) + 0.5) / count
    hidden = torch.zeros(count, 1)
    at_limit = torch.zeros(count, dtype=torch.bool)
    tokens, log_probs = draw_tokens(fixed_output, hidden, draws, at_limit, sampling)
    expected = (LOGITS / sampling.temperature).exp()
    expected[[token for token in range(10) if token not in kept]] = 0
    expected /= expected.sum()
    frequencies = tokens.bincount(minlength=10) / count
    torch.testing.assert_close(frequencies, expected, rtol=0, atol=1e-4, check_dtype=False)
    torch.testing.assert_close(log_probs, LOGITS.log_softmax(0)[tokens])
    assert not {PAD, BOS} & set(tokens.tolist())


def test_at_the_limit_comes_the_end():
    hidden = torch.zeros(5, 1)
    draws = torch.full((5,), 0.9)
    at_limit = torch.ones(5, dtype=torch.bool)
    tokens, _ = draw_tokens(fixed_output, hidden, draws, at_limit, Sampling())
    assert tokens.tolist() == 5 * [EOS]


@pytest.mark.parametrize("family", FAMILIES)
def test_forced_decoding_scores_as_teacher_forcing(family):
    model = random_model(family)
    sentences = random_sentences(LENGTHS)
    targets = random_sentences([3, 0, 8, 5], seed=1)
    forced = force(model, sources(sentences), targets, Decoding(alpha=0))
    for sentence, target, (hypothesis,) in zip(sentences, targets, forced, strict=True):
        with torch.no_grad():
            hidden = model(sources([sentence]), target_inputs([target])).target
            log_probs = model.output(hidden).log_softmax(-1)[0]
        expected = log_probs.gather(1, torch.tensor([*target, EOS])[:, None]).sum().item()
        assert hypothesis.tokens == target
        assert hypothesis.score == pytest.approx(expected, abs=1e-9)
