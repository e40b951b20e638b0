"""Models that translate together: the mean of their probabilities, whatever their families."""

import math

import pytest
import torch
from families import random_model, random_sentences, sources

from nmt.configuration import Decoding
from nmt.decoding.ensemble import Ensemble
from nmt.decoding.search import search
from nmt.models.protocol import BOS, EOS

SENTENCES = random_sentences([5, 1, 9, 4])


def probabilities(model, source: torch.Tensor, tokens: list[int]) -> torch.Tensor:
    """(T, V), by teacher forcing."""
    return model.output(model(source, torch.tensor([[BOS, *tokens]])).target)[0].softmax(-1)


def test_a_model_with_itself_is_itself():
    model = random_model("transformer")
    alone, twice = (
        search(one, sources(SENTENCES), [12] * 4, Decoding())
        for one in (model, Ensemble([model, model]))
    )
    assert [best.tokens for (best,) in alone] == [best.tokens for (best,) in twice]
    assert [best.score for (best,) in alone] == pytest.approx(
        [best.score for (best,) in twice], abs=1e-9
    )


@torch.no_grad()
@pytest.mark.parametrize(
    "families", [("transformer", "transformer"), ("rnnsearch", "decoder-only", "convs2s")]
)
def test_a_score_is_that_of_mean_probabilities(families):
    members = [random_model(family, seed) for seed, family in enumerate(families)]
    found = search(Ensemble(members), sources(SENTENCES), [12] * 4, Decoding())
    for sentence, (best,) in zip(SENTENCES, found, strict=True):
        of_each = [probabilities(model, sources([sentence]), best.tokens) for model in members]
        steps = torch.stack(of_each).mean(0)
        expected = sum(math.log(steps[at, token]) for at, token in enumerate([*best.tokens, EOS]))
        assert best.log_prob == pytest.approx(expected, abs=1e-9)
