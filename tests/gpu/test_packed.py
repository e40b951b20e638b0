"""What must be true of packed updates on a GPU, compiled and captured: `pytest -m gpu`."""

from itertools import islice

import numpy as np
import pytest
import torch

from nmt.data.batches import Batches, Partition
from nmt.data.packing import Packing
from nmt.models.build import build
from nmt.training.distributed import ProcessGroup
from nmt.training.state import Counters, load_state, save_state
from nmt.training.trainer import Trainer
from tests.support.families import FAMILIES, VOCABULARY, random_pairs
from tests.support.tiny_training import settings

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]
GPU = torch.device("cuda")
UPDATES = 6  # of which the first two are not replayed


PARTITION = Partition(packing=Packing(length=64, most_rows=6))


@pytest.fixture
def batches():
    """Return batches whose updates have two micro-batches, the last ones one."""
    return Batches(random_pairs(600), budget=300, seed=1, per_update=2)


@pytest.fixture
def updates(batches):
    """Return the first updates."""
    return list(islice(batches.updates(1, 0, PARTITION, GPU), UPDATES))


def make_trainer(family: str, packed: bool, dropout: float, precision: str) -> Trainer:
    torch.manual_seed(1)
    config = FAMILIES[family].model_copy(update={"dropout": dropout})
    model = build(config, VOCABULARY, VOCABULARY).to(GPU)
    training = settings(gradient_clip=1.0, precision=precision)
    return Trainer(model, training, ProcessGroup(GPU), seed=1, packed=packed)


def weights(trainer: Trainer) -> torch.Tensor:
    return torch.cat([parameter.detach().flatten() for parameter in trainer.model.parameters()])


@pytest.mark.parametrize("precision", ["float32", "float16"])
@pytest.mark.parametrize("family", ["transformer", "transformer-relative", "decoder-only-rotary"])
def test_replayed_updates_are_those_of_the_model(family, precision, updates):
    captured, plain = (make_trainer(family, one, 0.0, precision) for one in (True, False))
    for number, batch in enumerate(updates, start=1):
        captured.train_step(batch, 1e-3 / number, number)
        plain.train_step(batch, 1e-3 / number, number)
    tolerance = {"float32": 1e-4, "float16": 2e-2}[precision]
    torch.testing.assert_close(weights(captured), weights(plain), rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(captured.sums, plain.sums, rtol=tolerance, atol=tolerance)
    assert captured.pop_gradient_norms() == pytest.approx(plain.pop_gradient_norms(), rel=tolerance)


def test_random_numbers_of_a_replayed_update_follow_from_its_number(updates):
    trainer = make_trainer("transformer", packed=True, dropout=0.3, precision="float32")
    losses = []
    for number in (1, 2, 3, 4, 4, 5):  # a rate of 0 changes no weights
        trainer.train_step(updates[0], 0.0, number)
        losses.append(trainer.sums[0].item())
        trainer.sums.zero_()
    assert losses[3] == pytest.approx(losses[4], rel=1e-6)
    assert len({round(loss, 3) for loss in losses}) == 5


def test_a_training_that_was_saved_goes_on_as_if_nothing_had_happened(updates, tmp_path):
    whole, resumed = (make_trainer("transformer", True, 0.3, "float32") for _ in range(2))
    for number, batch in enumerate(updates, start=1):
        whole.train_step(batch, 1e-3, number)
        if number == 3:
            save_state(tmp_path / "state", whole, Counters(), "")
            load_state(tmp_path / "state", resumed, "")
        elif number > 3:
            resumed.train_step(batch, 1e-3, number)
    torch.testing.assert_close(weights(resumed), weights(whole), rtol=1e-5, atol=1e-6)


def test_an_update_without_a_gradient_changes_nothing(updates):
    trainer = make_trainer("transformer", packed=True, dropout=0.0, precision="float32")
    for number in range(1, 5):
        trainer.train_step(updates[0], 1e-3, number)
    before = weights(trainer)
    with torch.no_grad():
        bias = next(p for name, p in trainer.model.named_parameters() if name.endswith("bias"))
        kept = bias.clone()
        bias.fill_(torch.nan)
        trainer.train_step(updates[0], 1e-3, 5)
        bias.copy_(kept)
    assert torch.equal(weights(trainer), before)


def test_a_replayed_update_never_waits_for_the_gpu(updates):
    trainer = make_trainer("transformer", packed=True, dropout=0.1, precision="bfloat16")
    for number in (1, 2, 3):
        trainer.train_step(updates[0], 1e-3, number)
    torch.cuda.set_sync_debug_mode("error")
    try:
        trainer.train_step(updates[1], 1e-3, 4)
    finally:
        torch.cuda.set_sync_debug_mode("default")


def test_graphs_are_captured_while_another_thread_loads(batches):
    trainer = make_trainer("transformer", packed=True, dropout=0.1, precision="float32")
    stream = batches.stream(1, 0, PARTITION, GPU)
    for number, batch in enumerate(islice(stream, 20), start=1):
        trainer.train_step(batch, 1e-3, number)
    assert np.isfinite(trainer.pop_gradient_norms()).all()
