"""What one update minimises, with what a family adds to the loss of the target."""

import math

import pytest
import torch
from families import random_model, random_sentences, sources, target_inputs, target_outputs

from nmt.configuration import Training
from nmt.data.batches import Batch
from nmt.errors import UserError
from nmt.training.loop import build_optimiser, learn
from nmt.training.objective import cross_entropy
from nmt.training.state import Counters

RATE = 0.01


def settings(**changes) -> Training:
    return Training(**{"updates": 9, "batch_tokens": 99, "warmup": 1, "interval": 9, "optimiser": "sgd"} | changes)


@pytest.fixture
def batch() -> Batch:
    given, wanted = random_sentences([5, 3]), random_sentences([4, 6], seed=1)
    return Batch(sources(given), target_inputs(wanted), target_outputs(wanted), 12)


def still(family: str):
    """A model whose dropout and noise do not act, so that two passes agree."""
    model = random_model(family)
    model.train = lambda mode=True: model
    return model


def step(model, batch: Batch, training: Training) -> dict:
    """How far one update by plain gradient descent moves each parameter, divided by the rate: the gradient."""
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    learn(model, build_optimiser(model, training), batch, RATE, training, Counters(update=5))
    return {name: (before[name] - p.detach()) / RATE for name, p in model.named_parameters()}


def gradients(model, loss: torch.Tensor) -> dict:
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    return {n: torch.zeros_like(p) if g is None else g for n, p, g in zip(names, parameters, found, strict=True)}


def compare(moved: dict, expected: dict) -> None:
    for name, gradient in expected.items():
        torch.testing.assert_close(moved[name], gradient, rtol=1e-6, atol=1e-8)


def target_loss(model, hidden, batch: Batch) -> torch.Tensor:
    return cross_entropy(hidden.target, model.output, batch.target_out, 0.1)[0] / batch.target_tokens


def test_the_source_s_loss_counts_with_its_weight(batch):
    model = still("decoder-only")
    hidden = model(batch.source, batch.target_in)
    source = cross_entropy(hidden.source[0], model.output, hidden.source[1], 0.0)[0] / batch.target_tokens
    expected = gradients(model, target_loss(model, hidden, batch) + 0.5 * source)
    compare(step(model, batch, settings(source_loss=[[0, 1.0], [10, 0.0]])), expected)  # half way at update 5


def test_experts_pay_for_an_uneven_load(batch):
    model = still("moe")
    hidden = model(batch.source, batch.target_in)
    expected = gradients(model, target_loss(model, hidden, batch) + hidden.penalty)
    assert expected["target_mixture.experts.gate"].abs().sum() > 0
    compare(step(model, batch, settings()), expected)


def test_weight_decay_acts_apart_from_the_gradient(batch):
    moved = step(still("transformer"), batch, settings(optimiser="adamw", weight_decay=0.1))
    plain = step(still("transformer"), batch, settings(optimiser="adam"))
    for name, p in random_model("transformer").named_parameters():
        torch.testing.assert_close(moved[name] - plain[name], 0.1 * p.detach(), rtol=1e-5, atol=1e-6)


def test_any_part_of_the_loss_that_is_no_number_stops_training(batch):
    model = still("moe")
    model.target_mixture.weight = math.inf  # the target's own loss stays what it is
    with pytest.raises(UserError, match="the loss is no longer a number at update 5"):
        step(model, batch, settings())
