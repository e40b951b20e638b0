"""Gradient norms by layer."""

import math

import pytest
import torch

from nmt.configuration import load_catalog
from nmt.data.batches import Batches, Partition
from nmt.data.tokens import ParallelTokens
from nmt.models.build import build
from nmt.training.distributed import ProcessGroup
from nmt.training.gradients import REST, gradient_norms, layer_of
from nmt.training.trainer import Trainer
from tests.support import tiny_training
from tests.support.families import FAMILIES, VOCABULARY


@pytest.mark.parametrize("row", ["tiny-transformer", "tiny-rnnsearch", "tiny-seq2seq"])
def test_layers_add_up_to_the_gradient_of_the_first_update(tmp_path, row):
    folder = tiny_training.prepare(tmp_path)
    tokens = ParallelTokens.load(folder / "tokens-train")
    experiment = load_catalog(folder / "catalog").experiment(row)
    torch.manual_seed(1)
    model = build(experiment.model, *tokens.meta["vocabulary_sizes"])
    settings = experiment.training.model_copy(update={"micro_batches": 3})
    norms = gradient_norms(model, tokens, settings, seed=1)

    device = torch.device("cpu")
    batches = Batches.for_training(tokens, settings, 1)
    batch = next(batches.updates(1, 0, Partition(), device))
    trainer = Trainer(model, settings, ProcessGroup(device), seed=1)
    trainer.train_step(batch, learning_rate=0.1, update=1)
    [norm] = trainer.pop_gradient_norms()
    assert math.hypot(*norms.values()) == pytest.approx(norm, rel=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_layers(family):
    model = build(FAMILIES[family], VOCABULARY, VOCABULARY)
    layers = dict.fromkeys(layer_of(name) for name, _ in model.named_parameters())
    stacked = [layer for layer in layers if layer != REST]
    parts = {layer.partition(" ")[0] for layer in stacked}
    assert parts in ({"encoder", "decoder"}, {"layer"})
    for part in parts:
        numbers = [int(layer.split()[1]) for layer in stacked if layer.startswith(part)]
        assert sorted(numbers) == list(range(1, len(numbers) + 1))
