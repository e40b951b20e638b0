"""Optimizations of training speed change nothing but the speed."""

import numpy as np
import pytest
import torch

from nmt.benchmarks.optimizations import REPLACEMENTS, VARIABLES
from nmt.configuration import Training
from nmt.data.batch import Batch, UpdateBatch
from nmt.environment import SETTINGS
from nmt.models.build import build
from nmt.training.distributed import ProcessGroup
from nmt.training.trainer import Trainer
from tests.support.families import (
    VOCABULARY,
    random_sentences,
    sources,
    target_inputs,
    target_outputs,
    transformer,
)


def train() -> list[torch.Tensor]:
    """Return the weights after two updates in float64, without dropout."""
    torch.manual_seed(0)
    model = build(transformer(dropout=0.0, d_k=3, d_v=5), VOCABULARY, VOCABULARY).double()
    source = random_sentences([5, 3, 7])
    target = random_sentences([4, 6, 2], seed=1)
    batch = Batch(sources(source), target_inputs(target), target_outputs(target))
    update_batch = UpdateBatch(
        epoch=1,
        update_in_epoch=1,
        sentences=np.arange(3),
        source_tokens=18,
        target_tokens=15,
        padded_tokens=45,
        micro_batches={0: batch},
    )
    settings = Training(batch_tokens=24, updates=2, warmup=1, interval=1)
    trainer = Trainer(model, settings, ProcessGroup(torch.device("cpu")), seed=1)
    for update in (1, 2):
        trainer.train_step(update_batch, learning_rate=0.01, update=update)
    return [parameter.detach() for parameter in model.parameters()]


@pytest.mark.parametrize(
    "optimization", [name for name in REPLACEMENTS if name != "sorted-batches"]
)
def test_a_model_learns_the_same_without(optimization, monkeypatch):
    expected = train()
    owner, name, replacement = REPLACEMENTS[optimization]
    calls = []

    def counted(*args, **kwargs):
        calls.append(name)
        return replacement(*args, **kwargs)

    monkeypatch.setattr(owner, name, counted)
    for weights, expected_weights in zip(train(), expected, strict=True):
        torch.testing.assert_close(weights, expected_weights, rtol=1e-9, atol=1e-11)
    assert calls


def test_every_environment_variable_is_an_optimization():
    assert set(VARIABLES.values()) == set(SETTINGS)
