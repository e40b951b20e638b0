"""What one update minimizes, with what a family adds to the loss of the target."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from families import random_model, random_sentences, sources, target_inputs, target_outputs

from nmt.configuration import Training
from nmt.data.batches import Batch, UpdateBatch
from nmt.errors import UserError
from nmt.progress import Progress
from nmt.training.counters import Counters
from nmt.training.distributed import ProcessGroup
from nmt.training.loop import TrainingLoop
from nmt.training.machine import Machine
from nmt.training.metrics import Metrics, read_metrics
from nmt.training.objective import cross_entropy
from nmt.training.trainer import Trainer

RATE = 0.01
TARGET_TOKENS = 12


def settings(**changes) -> Training:
    return Training(
        **{"updates": 9, "batch_tokens": 99, "warmup": 1, "interval": 9, "optimizer": "sgd"}
        | changes
    )


@pytest.fixture
def batch() -> Batch:
    given, wanted = random_sentences([5, 3]), random_sentences([4, 6], seed=1)
    return Batch(sources(given), target_inputs(wanted), target_outputs(wanted))


def still(family: str):
    """A model whose dropout and noise do not act, so that two passes agree."""
    model = random_model(family)
    model.train = lambda mode=True: model
    return model


def trainer_of(model, training: Training) -> Trainer:
    return Trainer(model, training, ProcessGroup(torch.device("cpu")), seed=1)


def update_batch(batch: Batch) -> UpdateBatch:
    return UpdateBatch(1, 1, np.array([7, 9]), 0, TARGET_TOKENS, 0, {0: batch})


def loop_of(trainer: Trainer, folder, counters: Counters) -> TrainingLoop:
    """A loop in the middle of a training, without data."""
    machine = Machine(torch.device("cpu"), 2e6, {})
    loop = TrainingLoop(trainer, None, None, None, machine, None, RATE)
    loop.counters, loop.metrics = counters, Metrics(folder / "metrics.jsonl", 0)
    return loop


def step(model, batch: Batch, training: Training) -> dict:
    """How far one update by plain gradient descent moves each parameter, divided by the rate: the
    gradient.
    """
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    trainer_of(model, training).train_step(update_batch(batch), RATE, update=5)
    return {name: (before[name] - p.detach()) / RATE for name, p in model.named_parameters()}


def gradients(model, loss: torch.Tensor) -> dict:
    names, parameters = zip(*model.named_parameters(), strict=True)
    found = torch.autograd.grad(loss, parameters, allow_unused=True)
    return {
        n: torch.zeros_like(p) if g is None else g
        for n, p, g in zip(names, parameters, found, strict=True)
    }


def compare(moved: dict, expected: dict) -> None:
    for name, gradient in expected.items():
        torch.testing.assert_close(moved[name], gradient, rtol=1e-6, atol=1e-8)


def target_loss(model, hidden, batch: Batch) -> torch.Tensor:
    return cross_entropy(hidden.target, model.output, batch.target_out, 0.1)[0] / TARGET_TOKENS


def test_the_source_s_loss_counts_with_its_weight(batch):
    model = still("decoder-only")
    hidden = model(batch.source, batch.target_in)
    source = cross_entropy(hidden.source[0], model.output, hidden.source[1], 0.0)[0] / TARGET_TOKENS
    expected = gradients(model, target_loss(model, hidden, batch) + 0.5 * source)
    compare(
        step(model, batch, settings(source_loss=[[0, 1.0], [10, 0.0]])), expected
    )  # half way at update 5


def test_experts_pay_for_an_uneven_load(batch):
    model = still("moe")
    hidden = model(batch.source, batch.target_in)
    expected = gradients(model, target_loss(model, hidden, batch) + hidden.penalty)
    assert expected["target_mixture.experts.gate"].abs().sum() > 0
    compare(step(model, batch, settings()), expected)


def test_weight_decay_acts_apart_from_the_gradient(batch):
    moved = step(still("transformer"), batch, settings(optimizer="adamw", weight_decay=0.1))
    plain = step(still("transformer"), batch, settings(optimizer="adam"))
    for name, p in random_model("transformer").named_parameters():
        torch.testing.assert_close(
            moved[name] - plain[name], 0.1 * p.detach(), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_an_update_without_a_gradient_leaves_all_as_it_was(batch, optimizer):
    def after(*weights: float) -> Trainer:
        """One update with each weight of the experts' balance."""
        model = still("moe")
        trainer = trainer_of(model, settings(optimizer=optimizer))
        for update, model.target_mixture.weight in enumerate(weights, start=1):
            trainer.train_step(update_batch(batch), RATE, update)
        return trainer

    skipping, plain = after(1.0, math.inf, math.nan, 1.0), after(1.0, 1.0)
    assert [math.isfinite(norm) for _, norm in skipping.outcomes()] == [True, False, False, True]
    assert torch.equal(skipping.sums, plain.sums)
    for (name, ours), theirs in zip(
        skipping.model.named_parameters(), plain.model.parameters(), strict=True
    ):
        assert torch.equal(ours, theirs), name
        for key, value in plain.optimizer.state[theirs].items():
            assert torch.equal(skipping.optimizer.state[ours][key], value), (name, key)


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("on a GPU"), RuntimeError("can't allocate memory")]
)
def test_too_little_memory_is_said_with_the_batch_s_size(batch, error):
    def encode(source):
        raise error

    model = still("transformer")
    model.encode = encode
    said = (
        r"for 2 sentences of 6 source and 7 target tokens: give train.py --device-tokens well"
        r" below 14"
    )
    with pytest.raises(UserError, match=said):
        trainer_of(model, settings()).train_step(update_batch(batch), RATE, update=1)


def test_too_many_updates_without_a_gradient_stop_training(batch, tmp_path):
    model = still("moe")
    trainer, counters = trainer_of(model, settings(most_skipped=3)), Counters()
    loop = loop_of(trainer, tmp_path, counters)
    for weight in (math.nan, 1.0, math.inf, math.inf, math.inf):
        loop.check_gradients()
        counters.update, model.target_mixture.weight = counters.update + 1, weight
        trainer.train_step(update_batch(batch), RATE, counters.update)
    with pytest.raises(
        UserError, match=r"at update 5 and in the 2 before it.* the training sentences 7, 9"
    ) as e:
        loop.check_gradients()
    assert "4 updates were skipped in all" in str(e.value)
    skipped = [{"update": update, "skipped_sentences": [7, 9]} for update in (1, 3, 4, 5)]
    assert read_metrics(tmp_path / "metrics.jsonl") == skipped


def test_rates_are_those_since_the_last_line(tmp_path):
    trainer = trainer_of(random_model("transformer"), settings())
    before = Counters(update=20, target_tokens=1000, flops=1e6, seconds=10.0, device_seconds=20.0)
    counters = replace(
        before,
        update=40,
        target_tokens=4000,
        flops=5e6,
        seconds=12.0,
        device_seconds=24.0,
        positions=1,
    )
    loop = loop_of(trainer, tmp_path, counters)
    loop.logged, loop.progress = before, Progress("training", None, "updates")
    loop.log(RATE, norm=1.0)
    (line,) = read_metrics(tmp_path / "metrics.jsonl")
    assert line["tokens_per_second"] == loop.progress.shown["tokens_per_second"] == 1500
    assert line["mfu"] == pytest.approx(4e6 / 4 / 2e6)
    assert line["seconds"] == 12.0


@pytest.mark.parametrize("family", ["gnmt", "seq2seq"])
def test_what_torch_cannot_do_is_said_before_it_fails(family):
    with pytest.raises(
        UserError, match="cannot train an LSTM in float16 on a CPU: set precision to bfloat16"
    ):
        trainer_of(random_model(family), settings(precision="float16"))
