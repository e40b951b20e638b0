"""Ensembles: the mean of the members' probabilities, whatever their families."""

import math

import pytest
import torch

from nmt.configuration import Decoding
from nmt.data.sequences import Source
from nmt.decoding.ensemble import Ensemble
from nmt.decoding.search import search
from nmt.models.protocol import EOS
from tests.support.families import random_model, random_sentences, sources, target_inputs

SENTENCES = random_sentences([5, 1, 9, 4])
LIMITS = [12] * 4


def probabilities(model, source: Source, tokens: list[int]) -> torch.Tensor:
    """Return the model's probabilities (T, V) of next tokens, by teacher forcing."""
    return model.output(model(source, target_inputs([tokens])).target)[0].softmax(-1)


def test_a_model_with_itself_is_itself():
    model = random_model("transformer")
    twice = Ensemble([model, model])
    hypotheses = search(model, sources(SENTENCES), LIMITS, Decoding())
    hypotheses_of_twice = search(twice, sources(SENTENCES), LIMITS, Decoding())
    for (best,), (best_of_twice,) in zip(hypotheses, hypotheses_of_twice, strict=True):
        assert best.tokens == best_of_twice.tokens
        assert best.score == pytest.approx(best_of_twice.score, abs=1e-9)


@torch.no_grad()
@pytest.mark.parametrize(
    "families", [("transformer", "transformer"), ("rnnsearch", "decoder-only", "convs2s")]
)
def test_a_score_is_that_of_mean_probabilities(families):
    members = [random_model(family, seed) for seed, family in enumerate(families)]
    hypotheses = search(Ensemble(members), sources(SENTENCES), LIMITS, Decoding())
    for sentence, (best,) in zip(SENTENCES, hypotheses, strict=True):
        source = sources([sentence])
        by_member = [probabilities(model, source, best.tokens) for model in members]
        mean = torch.stack(by_member).mean(0)
        log_probs = [
            math.log(mean[position, token]) for position, token in enumerate([*best.tokens, EOS])
        ]
        assert best.log_prob == pytest.approx(sum(log_probs), abs=1e-9)
