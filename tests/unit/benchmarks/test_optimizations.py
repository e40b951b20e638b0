"""What makes training fast changes nothing else."""

import numpy as np
import pytest
import torch
from families import (
    VOCABULARY,
    random_sentences,
    sources,
    target_inputs,
    target_outputs,
    transformer,
)

from nmt.benchmarks.optimizations import CLEARED, REPLACEMENTS
from nmt.configuration import Training
from nmt.data.batches import Batch, UpdateBatch
from nmt.environment import SETTINGS
from nmt.models.build import build
from nmt.training.distributed import ProcessGroup
from nmt.training.trainer import Trainer


def learned() -> list[torch.Tensor]:
    """Weights after two updates in float64, without dropout."""
    torch.manual_seed(0)
    model = build(transformer(dropout=0.0, d_k=3, d_v=5), VOCABULARY, VOCABULARY).double()
    source, target = random_sentences([5, 3, 7]), random_sentences([4, 6, 2], seed=1)
    batch = Batch(sources(source), target_inputs(target), target_outputs(target))
    update_batch = UpdateBatch(
        epoch=1,
        position=1,
        sentences=np.arange(3),
        source_tokens=18,
        target_tokens=15,
        positions=45,
        micro_batches={0: batch},
    )
    settings = Training(batch_tokens=24, updates=2, warmup=1, interval=1)
    trainer = Trainer(model, settings, ProcessGroup(torch.device("cpu")), seed=1)
    for update in (1, 2):
        trainer.train_step(update_batch, learning_rate=0.01, update=update)
    return [parameter.detach() for parameter in model.parameters()]


@pytest.mark.parametrize("measure", [name for name in REPLACEMENTS if name != "sorted-batches"])
def test_a_model_learns_the_same_without_it(measure, monkeypatch):
    expected, called = learned(), []
    owner, name, replacement = REPLACEMENTS[measure]

    def counted(*args, **kwargs):
        called.append(measure)
        return replacement(*args, **kwargs)

    monkeypatch.setattr(owner, name, counted)
    for found, weights in zip(learned(), expected, strict=True):
        torch.testing.assert_close(found, weights, rtol=1e-9, atol=1e-11)
    assert called


def test_every_variable_of_the_environment_is_a_measure():
    assert set(CLEARED.values()) == set(SETTINGS)
