"""The objective of one update, and how the loop counts and logs updates."""

import math
import shutil
import time
from contextlib import nullcontext
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from nmt.configuration import Training, training_disk
from nmt.data.batch import Batch, UpdateBatch
from nmt.errors import UserError
from nmt.progress import Progress
from nmt.training.counters import Counters
from nmt.training.distributed import ProcessGroup
from nmt.training.loop import TrainingLoop
from nmt.training.machine import Machine
from nmt.training.metrics import Metrics, read_metrics
from nmt.training.objective import cross_entropy
from nmt.training.run_folder import RunFolder
from nmt.training.trainer import Trainer
from nmt.training.validation import has_diverged, perplexity
from tests.support.families import (
    FAMILIES,
    random_model,
    random_sentences,
    sources,
    target_inputs,
    target_outputs,
)

RATE = 0.01
TARGET_TOKENS = 12


def settings(**changes) -> Training:
    """Return the settings of a short training."""
    defaults = {"updates": 9, "batch_tokens": 99, "warmup": 1, "interval": 9, "optimizer": "sgd"}
    return Training(**defaults | changes)


@pytest.fixture
def batch() -> Batch:
    source = random_sentences([5, 3])
    target = random_sentences([4, 6], seed=1)
    return Batch(sources(source), target_inputs(target), target_outputs(target))


def noiseless_model(family: str):
    """Return a model without dropout and noise, so that two passes agree."""
    model = random_model(family)
    model.train = lambda mode=True: model
    return model


def make_trainer(model, training: Training) -> Trainer:
    """Return the model's trainer on the CPU."""
    return Trainer(model, training, ProcessGroup(torch.device("cpu")), seed=1)


def update_batch(batch: Batch) -> UpdateBatch:
    """Return an update that learns from the batch alone."""
    return UpdateBatch(1, 1, np.array([7, 9]), 0, TARGET_TOKENS, 0, {0: batch})


def make_loop(trainer: Trainer, folder, counters: Counters) -> TrainingLoop:
    """Return a loop in the middle of a training, without data."""
    machine = Machine(torch.device("cpu"), 2e6, {})
    loop = TrainingLoop(trainer, None, None, None, machine, None, RATE)
    loop.counters = counters
    loop.metrics = Metrics(folder / "metrics.jsonl", 0)
    loop.state_seconds = loop.longest_update = 0.0
    loop.updated = time.monotonic()
    return loop


def step(model, batch: Batch, training: Training) -> dict[str, torch.Tensor]:
    """Return how far one update moves each parameter, divided by the learning rate.

    By plain gradient descent that is the gradient.
    """
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    make_trainer(model, training).train_step(update_batch(batch), RATE, update=5)
    after = {name: value.detach() for name, value in model.named_parameters()}
    return {name: (before[name] - after[name]) / RATE for name in before}


def gradients(model, loss: torch.Tensor) -> dict[str, torch.Tensor]:
    """Return the loss's gradient for each parameter."""
    names, parameters = zip(*model.named_parameters(), strict=True)
    grads = torch.autograd.grad(loss, parameters, allow_unused=True, materialize_grads=True)
    return dict(zip(names, grads, strict=True))


def assert_close(actual: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> None:
    """Assert that the gradients of all parameters agree."""
    for name, gradient in expected.items():
        torch.testing.assert_close(actual[name], gradient, rtol=1e-6, atol=1e-8)


def target_loss(model, hidden, batch: Batch) -> torch.Tensor:
    """Return the mean loss of a target token."""
    loss, _ = cross_entropy(hidden.target, model.output, batch.target_out, 0.1)
    return loss / TARGET_TOKENS


def test_the_source_s_loss_counts_with_its_weight(batch):
    model = noiseless_model("decoder-only")
    hidden = model(batch.source, batch.target_in)
    states, tokens = hidden.source
    source_loss, _ = cross_entropy(states, model.output, tokens, 0.0)
    loss = target_loss(model, hidden, batch) + 0.5 * source_loss / TARGET_TOKENS
    expected = gradients(model, loss)
    training = settings(source_loss=[[0, 1.0], [10, 0.0]])  # half way at update 5
    assert_close(step(model, batch, training), expected)


def test_experts_pay_for_an_uneven_load(batch):
    model = noiseless_model("moe")
    hidden = model(batch.source, batch.target_in)
    expected = gradients(model, target_loss(model, hidden, batch) + hidden.penalty)
    assert expected["target_mixture.experts.gate"].abs().sum() > 0
    assert_close(step(model, batch, settings()), expected)


def test_weight_decay_acts_apart_from_the_gradient(batch):
    adamw = settings(optimizer="adamw", weight_decay=0.1)
    adam = settings(optimizer="adam")
    with_decay = step(noiseless_model("transformer"), batch, adamw)
    without = step(noiseless_model("transformer"), batch, adam)
    for name, parameter in random_model("transformer").named_parameters():
        decay = with_decay[name] - without[name]
        torch.testing.assert_close(decay, 0.1 * parameter.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd"])
def test_an_update_without_a_gradient_leaves_all_as_it_was(batch, optimizer):
    def train(*weights: float) -> Trainer:
        """Take one update with each weight of the experts' balance."""
        model = noiseless_model("moe")
        trainer = make_trainer(model, settings(optimizer=optimizer))
        for update, model.target_mixture.weight in enumerate(weights, start=1):
            trainer.train_step(update_batch(batch), RATE, update)
        return trainer

    skipping = train(1.0, math.inf, math.nan, 1.0)
    plain = train(1.0, 1.0)
    finite = [math.isfinite(norm) for _, norm in skipping.pop_gradient_norms()]
    assert finite == [True, False, False, True]
    assert torch.equal(skipping.sums, plain.sums)
    expected_parameters = dict(plain.model.named_parameters())
    for name, parameter in skipping.model.named_parameters():
        expected = expected_parameters[name]
        assert torch.equal(parameter, expected), name
        for key, value in plain.optimizer.state[expected].items():
            assert torch.equal(skipping.optimizer.state[parameter][key], value), (name, key)


@pytest.mark.parametrize(
    "error", [torch.OutOfMemoryError("on a GPU"), RuntimeError("can't allocate memory")]
)
def test_too_little_memory_is_said_with_the_batch_s_size(batch, error):
    def encode(source):
        raise error

    model = noiseless_model("transformer")
    model.encode = encode
    message = (
        r"for 2 sentences of 6 source and 7 target tokens: give train.py --device-tokens well"
        r" below 14"
    )
    with pytest.raises(UserError, match=message):
        make_trainer(model, settings()).train_step(update_batch(batch), RATE, update=1)


def test_too_many_updates_without_a_gradient_stop_training(batch, tmp_path):
    model = noiseless_model("moe")
    trainer = make_trainer(model, settings(most_skipped=3))
    counters = Counters()
    loop = make_loop(trainer, tmp_path, counters)
    for weight in (math.nan, 1.0, math.inf, math.inf, math.inf):
        loop.check_gradients()
        counters.update += 1
        model.target_mixture.weight = weight
        trainer.train_step(update_batch(batch), RATE, counters.update)
    message = r"at update 5 and in the 2 before it.* the training pairs 7, 9, counted from 0 after"
    with pytest.raises(UserError, match=message) as error:
        loop.check_gradients()
    assert "4 updates were skipped in all" in str(error.value)
    skipped = [{"update": update, "skipped_sentences": [7, 9]} for update in (1, 3, 4, 5)]
    assert read_metrics(tmp_path / "metrics.jsonl") == skipped


def test_rates_are_those_since_the_last_line(tmp_path):
    trainer = make_trainer(random_model("transformer"), settings())
    before = Counters(update=20, target_tokens=1000, flops=1e6, seconds=10.0, device_seconds=20.0)
    counters = replace(
        before,
        update=40,
        target_tokens=4000,
        flops=5e6,
        seconds=12.0,
        device_seconds=24.0,
        padded_tokens=1,
    )
    loop = make_loop(trainer, tmp_path, counters)
    loop.logged = before
    loop.progress = Progress("training", None, "updates")
    loop.log(RATE, norm=1.0)
    (line,) = read_metrics(tmp_path / "metrics.jsonl")
    assert line["tokens_per_second"] == 1500
    assert line["mfu"] == pytest.approx(4e6 / 4 / 2e6)
    assert line["seconds"] == 12.0


def test_padding_is_that_since_the_last_line_also_where_training_went_on_between(tmp_path):
    counters = Counters(update=20, source_tokens=400, target_tokens=400, padded_tokens=1000)
    counters.seconds = counters.device_seconds = 1.0
    loop = make_loop(make_trainer(random_model("transformer"), settings()), tmp_path, counters)
    loop.logged = Counters()
    loop.progress = Progress("training", None, "updates")
    loop.log(RATE, norm=1.0)
    counters = replace(counters, update=21, target_tokens=450, padded_tokens=1100)  # is saved here
    loop.counters, loop.logged = replace(counters, update=40, padded_tokens=1200), counters
    loop.counters.seconds = loop.counters.device_seconds = 2.0
    loop.log(RATE, norm=1.0)
    first, second = read_metrics(tmp_path / "metrics.jsonl")
    assert first["padding"] == pytest.approx(1 - 800 / 1000)
    assert second["padding"] == pytest.approx(1 - 50 / 200)


@pytest.mark.parametrize("family", ["gnmt", "seq2seq"])
def test_what_torch_cannot_do_is_said_before_it_fails(family):
    message = "cannot train an LSTM in float16 on a CPU: set precision to bfloat16"
    with pytest.raises(UserError, match=message):
        make_trainer(random_model(family), settings(precision="float16"))


def test_what_is_worse_than_guessing_has_diverged():
    guessing = math.log(300)
    assert not has_diverged(guessing + 0.9, 300)  # as an untrained model may be
    assert has_diverged(guessing + 1.1, 300)
    assert has_diverged(math.inf, 300)
    assert has_diverged(math.nan, 300)
    assert perplexity(guessing) == pytest.approx(300)
    assert perplexity(1e4) == math.inf
    assert math.isnan(perplexity(math.nan))


@pytest.mark.parametrize("precision", ["float32", "tf32", "bfloat16"])
def test_tf32_is_used_where_it_is_named(precision):
    make_trainer(random_model("transformer"), settings(precision=precision))
    backends = torch.backends.cuda.matmul, torch.backends.cudnn
    assert all(backend.allow_tf32 == (precision == "tf32") for backend in backends)


def test_a_model_whose_dev_loss_is_nan_is_not_translated_with(batch, tmp_path, monkeypatch):
    model = random_model("transformer")
    trainer = make_trainer(model, settings(bleu_interval=9))
    loop = make_loop(trainer, tmp_path, Counters(update=9))
    loop.dev = None
    monkeypatch.setattr("nmt.training.loop.dev_nll", lambda *_: math.nan)
    monkeypatch.setattr(loop, "warn_of_flat_loss", lambda: None)
    loop.folder = SimpleNamespace(keep_checkpoint=lambda *_: None)
    loop.validation = SimpleNamespace(bleu=lambda _: pytest.fail("translated"))
    loop.validate()
    (line,) = read_metrics(tmp_path / "metrics.jsonl")
    assert math.isnan(line["dev_nll"])
    assert "dev_bleu" not in line


@pytest.mark.parametrize(
    ("largest", "agree"), [([20, -20], True), ([20, -0], False), ([40, -20], False)]
)
def test_ranks_go_on_from_the_same_update(tmp_path, largest, agree):
    """largest: of all ranks' updates and of their negatives; here the update is 20."""
    loop = make_loop(make_trainer(random_model("transformer"), settings()), tmp_path, Counters())
    loop.group = SimpleNamespace(max=lambda *_: largest)
    loop.folder = SimpleNamespace(state_folder=tmp_path)
    with nullcontext() if agree else pytest.raises(UserError, match="all nodes share"):
        loop.require_same_update(20)


def test_a_limit_that_was_changed_is_asked_for_again(tmp_path, monkeypatch):
    loop = make_loop(make_trainer(random_model("transformer"), settings()), tmp_path, Counters())
    loop.state_seconds, loop.end = 5.0, time.monotonic() + 20
    assert not loop.is_out_of_time(due=True)
    loop.state_seconds = 20.0  # two such states would not fit before the limit
    monkeypatch.setattr("nmt.training.slurm.end_of_training", lambda: loop.end)
    assert loop.is_out_of_time(due=False)
    monkeypatch.setattr("nmt.training.slurm.end_of_training", lambda: None)
    assert loop.is_out_of_time(due=False)  # squeue did not answer
    monkeypatch.setattr("nmt.training.slurm.end_of_training", lambda: time.monotonic() + 1000)
    assert not loop.is_out_of_time(due=False)


def test_a_limit_that_squeue_did_not_tell_is_asked_for_with_the_next_state(tmp_path, monkeypatch):
    loop = make_loop(make_trainer(random_model("transformer"), settings()), tmp_path, Counters())
    loop.end = None
    monkeypatch.setattr("nmt.training.slurm.end_of_training", lambda: time.monotonic() - 1)
    assert not loop.is_out_of_time(due=False)
    assert loop.is_out_of_time(due=True)


def test_the_longest_update_fits_before_the_limit(tmp_path, monkeypatch):
    loop = make_loop(make_trainer(random_model("transformer"), settings()), tmp_path, Counters())
    loop.end = time.monotonic() + 100
    monkeypatch.setattr("nmt.training.slurm.end_of_training", lambda: loop.end)
    assert not loop.is_out_of_time(due=False)
    loop.updated -= 200  # as if this update had taken so long
    assert loop.is_out_of_time(due=False)


def test_the_first_checkpoint_is_the_best_until_a_loss_is_finite(tmp_path):
    trainer = make_trainer(random_model("transformer"), settings(checkpoint="best"))
    folder = RunFolder(
        tmp_path, SimpleNamespace(model=FAMILIES["transformer"], training=settings()), {}
    )
    kept = []
    counters = Counters()
    for counters.update, nll in enumerate([math.nan, math.inf, 5.0, math.nan], start=1):
        counters.record_dev_nll(nll)
        folder.keep_checkpoint(trainer, counters)
        kept.append(folder.checkpoints("best-*")[-1].stem)
    assert kept == ["best-00000001", "best-00000001", "best-00000003", "best-00000003"]


def test_a_checkpoint_with_two_names_takes_room_once(tmp_path, monkeypatch):
    trainer = make_trainer(random_model("transformer"), settings())
    weights = sum(parameter.nbytes for parameter in trainer.model.parameters())
    folder = RunFolder(
        tmp_path, SimpleNamespace(model=FAMILIES["transformer"], training=settings()), {}
    )
    path = folder.state_folder / "1.safetensors"
    path.parent.mkdir()
    path.write_bytes(b"0" * weights)
    path.with_name("best-1.safetensors").hardlink_to(path)
    room = training_disk(weights, settings()) - weights
    for free, fits in ((room, True), (room - 1, False)):
        monkeypatch.setattr(shutil, "disk_usage", lambda _, free=free: SimpleNamespace(free=free))
        with nullcontext() if fits else pytest.raises(UserError, match="make room"):
            folder.require_space(trainer)
