"""Translations drawn at random: where a distribution is cut, how often a token is drawn, and what
it costs.
"""

import pytest
import torch
from families import FAMILIES, random_model, random_sentences, sources

from nmt.configuration import Decoding
from nmt.decoding.forced import force
from nmt.decoding.sampling import Sampling, drawn, sample
from nmt.decoding.search import search
from nmt.decoding.translator import sample_tokens
from nmt.models.protocol import BOS, EOS, PAD

LENGTHS = [5, 1, 9, 4]


@pytest.fixture(params=["transformer", "decoder-only", "rnnsearch", "convs2s"])
def model(request):
    return random_model(request.param)


def sampled(model, sampling: Sampling, samples: int):
    return sample(
        model,
        sources(random_sentences(LENGTHS)),
        [0, 1, 2, 3],
        [12] * 4,
        Decoding(),
        sampling,
        samples,
    )


@pytest.mark.parametrize(
    "sampling", [Sampling(top_k=1), Sampling(top_p=1e-9), Sampling(temperature=1e-6)]
)
def test_only_the_likeliest_token_is_greedy_search(model, sampling):
    found = search(model, sources(random_sentences(LENGTHS)), [12] * 4, Decoding(beam=1))
    for (best,), samples in zip(found, sampled(model, sampling, 3), strict=True):
        assert [each.tokens for each in samples] == 3 * [best.tokens]
        assert samples[0].log_prob == pytest.approx(best.log_prob, abs=1e-9)


def test_scores_are_those_of_forced_decoding(model):
    source = sources(random_sentences(LENGTHS))
    found = sampled(model, Sampling(top_k=5), 4)
    for number in range(4):
        (forced,) = zip(
            *force(model, source, [each[number].tokens for each in found], Decoding()), strict=True
        )
        for each, same in zip(found, forced, strict=True):
            assert each[number].tokens == same.tokens
            assert each[number].log_prob == pytest.approx(same.log_prob, abs=1e-9)
            assert each[number].score == pytest.approx(same.score, abs=1e-9)


def test_batching_and_order_change_nothing(model):
    sentences = random_sentences([*LENGTHS, 0, 7, 7])

    def all_found(items):
        batches = sample_tokens(model, items, Decoding(max_extra=6), Sampling(), samples=2)
        return dict(pair for batch in batches for pair in zip(*batch, strict=True))

    together = all_found(sentences)
    for number in range(len(sentences)):
        alone = all_found([sentence if n == number else [] for n, sentence in enumerate(sentences)])
        assert [each.tokens for each in alone[number]] == [each.tokens for each in together[number]]
    assert all_found(sentences) == together


class Fixed:
    """Always the same distribution over ten tokens."""

    logits = torch.tensor(
        [0.0, 1.0, 0.0, 2.0, 0.5, 1.5, -1.0, 0.2, -torch.inf, 0.1], dtype=torch.float64
    )

    @classmethod
    def output(cls, hidden):
        return cls.logits.expand(len(hidden), -1)


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
def test_tokens_come_as_often_as_is_asked_for(sampling, kept):
    draws = (
        torch.arange(20_000, dtype=torch.float64) + 0.5
    ) / 20_000  # evenly, as random ones are in the long run
    hidden, never = torch.zeros(20_000, 1), torch.zeros(20_000, dtype=torch.bool)
    tokens, steps = drawn(Fixed, hidden, draws, never, sampling)
    wanted = (Fixed.logits / sampling.temperature).exp()
    wanted[[token for token in range(10) if token not in kept]] = 0
    torch.testing.assert_close(
        tokens.bincount(minlength=10) / 20_000,
        wanted / wanted.sum(),
        rtol=0,
        atol=1e-4,
        check_dtype=False,
    )
    torch.testing.assert_close(steps, Fixed.logits.log_softmax(0)[tokens])
    assert not {PAD, BOS} & set(tokens.tolist())


def test_at_the_limit_comes_the_end():
    tokens, _ = drawn(
        Fixed, torch.zeros(5, 1), torch.full((5,), 0.9), torch.ones(5, dtype=torch.bool), Sampling()
    )
    assert tokens.tolist() == 5 * [EOS]


@pytest.mark.parametrize("family", FAMILIES)
def test_a_given_translation_is_worth_what_teacher_forcing_says(family):
    model = random_model(family)
    sentences, targets = random_sentences(LENGTHS), random_sentences([3, 0, 8, 5], seed=1)
    found = force(model, sources(sentences), targets, Decoding(penalty="none"))
    for sentence, target, (given,) in zip(sentences, targets, found, strict=True):
        with torch.no_grad():
            steps = model.output(
                model(sources([sentence]), torch.tensor([[BOS, *target]])).target
            ).log_softmax(-1)
        expected = steps[0].gather(1, torch.tensor([*target, EOS])[:, None]).sum().item()
        assert given.tokens == target
        assert given.score == pytest.approx(expected, abs=1e-9)
