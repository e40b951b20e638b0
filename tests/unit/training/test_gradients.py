"""Gradient norms by layer."""

import math
import re

import pytest
import torch

from nmt.configuration import load_catalog
from nmt.data.batches import Batches, Partition
from nmt.data.tokens import ParallelTokens
from nmt.models.build import build
from nmt.training.distributed import ProcessGroup
from nmt.training.gradients import gradient_norms
from nmt.training.trainer import Trainer
from tests.support import tiny_training


def test_layers_and_the_rest_add_up_to_the_gradient_of_the_first_update(tmp_path):
    folder = tiny_training.prepare(tmp_path)
    tokens = ParallelTokens.load(folder / "tokens-train")
    experiment = load_catalog(folder / "catalog").experiment("tiny-transformer+layers-2")
    torch.manual_seed(1)
    model = build(experiment.model, *tokens.meta["vocabulary_sizes"])
    settings = experiment.training.model_copy(update={"micro_batches": 3})
    norms = gradient_norms(model, tokens, settings, seed=1)
    assert list(norms) == ["encoder 1", "encoder 2", "decoder 1", "decoder 2"]
    in_layer = re.compile(r"(encoder|decoder)\.\d")
    rest = [
        float(p.grad.norm()) for name, p in model.named_parameters() if not in_layer.match(name)
    ]

    device = torch.device("cpu")
    batches = Batches.for_training(tokens, settings, 1)
    batch = next(batches.updates(1, 0, Partition(), device))
    trainer = Trainer(model, settings, ProcessGroup(device), seed=1)
    trainer.train_step(batch, learning_rate=0.1, update=1)
    [norm] = trainer.pop_gradient_norms()
    assert math.hypot(*norms.values(), *rest) == pytest.approx(norm, rel=1e-4)
