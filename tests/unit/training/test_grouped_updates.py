"""An update in fewer, larger micro-batches is the same update, to rounding."""

import numpy as np
import pytest
import torch

from nmt.configuration import Training
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.text.subwords import EOS
from nmt.training.distributed import ProcessGroup
from nmt.training.machine import least_tokens
from nmt.training.trainer import Trainer
from tests.support.families import FAMILIES, VOCABULARY, random_model

CPU = torch.device("cpu")
SETTINGS = Training(
    updates=9, batch_tokens=200, micro_batches=4, warmup=1, interval=9, optimizer="sgd"
)


def side(rng, count):
    """Return sentences of random lengths and tokens."""
    offsets = np.concatenate([[0], rng.integers(1, 15, count).cumsum()])
    return Ragged(rng.integers(EOS + 1, VOCABULARY, offsets[-1]).astype(np.uint32), offsets)


@pytest.fixture(scope="module")
def batches():
    rng = np.random.default_rng(1)
    tokens = ParallelTokens(side(rng, 60), side(rng, 60), {})
    return Batches.for_training(tokens, SETTINGS, seed=1)


def updated(family, batches, partition):
    """Return the weights after an update, and its batch."""
    model = random_model(family)
    model.train = lambda mode=True: model  # no dropout and no noise
    trainer = Trainer(model, SETTINGS, ProcessGroup(CPU), seed=1)
    batch = next(batches.updates(1, 0, partition, CPU))
    trainer.train_step(batch, learning_rate=1.0, update=1)
    return torch.cat([parameter.flatten() for parameter in model.parameters()]).detach(), batch


@pytest.mark.parametrize("family", FAMILIES)
def test_grouped_updates_are_equal(family, batches):
    if FAMILIES[family].has_loss_of_batches:
        assert not least_tokens(torch.device("cuda"), FAMILIES[family])
        return
    expected, batch = updated(family, batches, Partition())
    weights, grouped = updated(family, batches, Partition(least_tokens=150))
    assert len(grouped.micro_batches) < len(batch.micro_batches) == 4
    assert sorted(grouped.sentences) == sorted(batch.sentences)
    torch.testing.assert_close(weights, expected, rtol=1e-9, atol=1e-12)


def test_ranks_share_an_update_of_groups(batches):
    partitions = [Partition(rank, 2, least_tokens=100) for rank in range(2)]
    updates = [next(batches.updates(1, 0, partition, CPU)) for partition in partitions]
    assert updates[0].padded_tokens == updates[1].padded_tokens
    numbers = [set(update.micro_batches) for update in updates]
    assert not numbers[0] & numbers[1]
    padded = sum(
        batch.source.tokens.numel() + batch.target_in.numel()
        for update in updates
        for batch in update.micro_batches.values()
    )
    assert padded == updates[0].padded_tokens
    rows = sum(
        len(batch.source.tokens) for update in updates for batch in update.micro_batches.values()
    )
    assert rows == len(updates[0].sentences)


def test_a_cpu_keeps_its_micro_batches():
    assert least_tokens(CPU, FAMILIES["transformer"]) == 0
    assert least_tokens(torch.device("cuda"), FAMILIES["transformer"]) > 0
