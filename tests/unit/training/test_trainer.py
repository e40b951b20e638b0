"""The objective of one update, and that its division among micro-batches and ranks is no part of
it.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from nmt.configuration import Training
from nmt.data.batch import Batch, UpdateBatch
from nmt.data.batches import Batches, Partition
from nmt.data.packing import Packing
from nmt.models.build import build
from nmt.training.distributed import ProcessGroup
from nmt.training.objective import cross_entropy
from nmt.training.trainer import Trainer
from tests.support.families import (
    FAMILIES,
    VOCABULARY,
    random_model,
    random_pairs,
    random_sentences,
    sources,
    target_inputs,
    target_outputs,
)

CPU = torch.device("cpu")
RATE = 0.01
TARGET_TOKENS = 12


def settings(**changes) -> Training:
    """Return the settings of a short training."""
    defaults = {"updates": 9, "batch_tokens": 200, "warmup": 1, "interval": 9, "optimizer": "sgd"}
    return Training(**defaults | changes)


def make_trainer(family: str, training: Training) -> Trainer:
    """Return the trainer of a model without dropout and noise, so that two passes agree."""
    model = random_model(family)
    model.train = lambda mode=True: model
    return Trainer(model, training, ProcessGroup(CPU), seed=1)


@pytest.fixture
def batch() -> Batch:
    source = random_sentences([5, 3])
    target = random_sentences([4, 6], seed=1)
    return Batch(sources(source), target_inputs(target), target_outputs(target))


def update_batch(batch: Batch) -> UpdateBatch:
    """Return an update that learns from the batch alone."""
    return UpdateBatch(1, 1, np.array([7, 9]), 0, TARGET_TOKENS, {0: batch})


def step(family: str, batch: Batch, training: Training) -> dict[str, torch.Tensor]:
    """Return how far one update moves each parameter, divided by the learning rate.

    By plain gradient descent that is the gradient.
    """
    trainer = make_trainer(family, training)
    before = {name: value.detach().clone() for name, value in trainer.model.named_parameters()}
    trainer.train_step(update_batch(batch), RATE, update=5)
    after = {name: value.detach() for name, value in trainer.model.named_parameters()}
    return {name: (before[name] - after[name]) / RATE for name in before}


def assert_gradients(actual: dict[str, torch.Tensor], model, loss: torch.Tensor) -> None:
    """Assert that these are the loss's gradients for all parameters."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    expected = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    for name, gradient in zip(names, expected, strict=True):
        torch.testing.assert_close(actual[name], gradient, rtol=1e-6, atol=1e-8)


def target_loss(model, hidden, batch: Batch) -> torch.Tensor:
    """Return the mean loss of a target token."""
    loss, _ = cross_entropy(hidden.target, model.output, batch.target_out, 0.1)
    return loss / TARGET_TOKENS


def test_the_source_s_loss_counts_with_its_weight(batch):
    model = random_model("decoder-only")
    hidden = model(batch.source, batch.target)
    states, tokens = hidden.source
    source_loss, _ = cross_entropy(states, model.output, tokens, 0.0)
    loss = target_loss(model, hidden, batch) + 0.5 * source_loss / TARGET_TOKENS
    training = settings(source_loss=[[0, 1.0], [10, 0.0]])  # half way at update 5
    assert_gradients(step("decoder-only", batch, training), model, loss)


def test_experts_pay_for_an_uneven_load(batch):
    model = random_model("moe")
    hidden = model(batch.source, batch.target)
    loss = target_loss(model, hidden, batch) + hidden.penalty
    actual = step("moe", batch, settings())
    assert actual["target_mixture.experts.gate"].abs().sum() > 0
    assert_gradients(actual, model, loss)


def test_weight_decay_acts_apart_from_the_gradient(batch):
    with_decay = step("transformer", batch, settings(optimizer="adamw", weight_decay=0.1))
    without = step("transformer", batch, settings(optimizer="adam"))
    for name, parameter in random_model("transformer").named_parameters():
        decay = with_decay[name] - without[name]
        torch.testing.assert_close(decay, 0.1 * parameter.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_an_update_without_a_gradient_leaves_all_as_it_was(batch, optimizer):
    def train(*weights: float) -> Trainer:
        """Take one update with each weight of the experts' balance."""
        trainer = make_trainer("moe", settings(optimizer=optimizer))
        for update, trainer.model.target_mixture.weight in enumerate(weights, start=1):
            trainer.train_step(update_batch(batch), RATE, update)
        return trainer

    skipping = train(1.0, math.inf, math.nan, 1.0)
    plain = train(1.0, 1.0)
    finite = [math.isfinite(norm) for norm in skipping.pop_gradient_norms()]
    assert finite == [True, False, False, True]
    assert torch.equal(skipping.sums, plain.sums)
    expected_parameters = dict(plain.model.named_parameters())
    for name, parameter in skipping.model.named_parameters():
        expected = expected_parameters[name]
        assert torch.equal(parameter, expected), name
        for key, value in plain.optimizer.state[expected].items():
            assert torch.equal(skipping.optimizer.state[parameter][key], value), (name, key)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_half_precision_learns_nearly_the_same(batch, precision):
    def losses(precision: str) -> list[float]:
        torch.manual_seed(1)
        model = build(FAMILIES["transformer"], VOCABULARY, VOCABULARY)
        trainer = Trainer(
            model, settings(optimizer="adam", precision=precision), ProcessGroup(CPU), 1
        )
        # A rank's first update may be empty.
        trainer.train_step(replace(update_batch(batch), micro_batches={}), 0, 1)
        for update in range(2, 21):
            trainer.train_step(update_batch(batch), RATE, update)
        assert sum(map(math.isfinite, trainer.pop_gradient_norms())) >= 17
        return trainer.sums.tolist()[:2]

    assert losses(precision) == pytest.approx(losses("float32"), rel=0.05)


@pytest.fixture(scope="module")
def batches():
    return Batches.for_training(random_pairs(60), settings(micro_batches=4), seed=1)


class ManyRanks(ProcessGroup):
    """A group whose other ranks add their gradients when it is asked for a sum."""

    def sum_(self, values):
        for batch in self.others:
            self.trainer.backward(batch, self.with_source)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", ["merged", "packed", "two ranks", "two ranks, packed"])
def test_equal_sums_are_equal_updates(family, kind, batches):
    config = FAMILIES[family]
    if "packed" in kind and not config.can_be_packed:
        return
    if getattr(config, "experts", None) and kind == "merged":  # their balance is a micro-batch's
        return
    source_loss = [[0, 0.5]] if config.family == "decoder-only" and not config.prefix else []

    def weights(trainer):
        return torch.cat([parameter.flatten() for parameter in trainer.model.parameters()])

    whole = make_trainer(family, settings(source_loss=source_loss))
    batch = next(batches.updates(1, 0, Partition(), CPU))
    whole.train_step(batch, learning_rate=1.0, update=1)

    divided = make_trainer(family, settings(source_loss=source_loss))
    if kind == "merged":
        part = next(batches.updates(1, 0, Partition(least_tokens=300), CPU))
        assert len(part.micro_batches) < len(batch.micro_batches) == 4
    elif kind == "packed":
        partition = Partition(packing=Packing(length=40, most_rows=3))
        part = next(batches.updates(1, 0, partition, CPU))
        shapes = {tuple(b.source.tokens.shape) for b in part.micro_batches.values()}
        assert len(shapes) == 1
        assert max(shapes) <= (3, 40)
        assert len(part.micro_batches) > 1
    else:
        packing = Packing(length=40, most_rows=3) if "packed" in kind else None
        partitions = [Partition(rank, 2, packing=packing) for rank in range(2)]
        part, other = (next(batches.updates(1, 0, partition, CPU)) for partition in partitions)
        divided.group = ManyRanks(CPU)
        others = list(other.micro_batches.values())
        vars(divided.group).update(trainer=divided, others=others, with_source=bool(source_loss))
    assert sorted(part.sentences) == sorted(batch.sentences)
    divided.train_step(part, learning_rate=1.0, update=1)
    torch.testing.assert_close(weights(divided), weights(whole), rtol=1e-9, atol=1e-12)
