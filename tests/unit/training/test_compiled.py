"""The compiled update of packed sentences, beside the same update as Python calls it."""

import pytest
import torch

from nmt.data.batches import Batches, Partition
from nmt.data.packing import Packing
from nmt.models.build import build
from nmt.training.distributed import ProcessGroup
from nmt.training.trainer import Trainer
from tests.support.families import VOCABULARY, decoder_only, random_pairs
from tests.unit.training.test_trainer import settings

CPU = torch.device("cpu")


def train(packed: bool) -> tuple[torch.Tensor, list[float]]:
    """Return the parameters after two updates, and the gradients' norms."""
    torch.manual_seed(0)
    # One stack, because each kernel takes seconds to compile.
    config = decoder_only(layers=1, d_model=4, d_ff=4, heads=2, dropout=0.0)
    model = build(config, VOCABULARY, VOCABULARY).double()
    training = settings(optimizer="adam", source_loss=[[0, 0.5]])
    trainer = Trainer(model, training, ProcessGroup(CPU), seed=1, packed=packed)
    batches = Batches(random_pairs(60), budget=200, seed=1)
    updates = batches.updates(1, 0, Partition(packing=Packing(length=32, most_rows=9)), CPU)
    for number in (1, 2):
        trainer.train_step(next(updates), 1e-3, number)
    weights = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    return weights, trainer.pop_gradient_norms()


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_a_compiled_update_is_that_of_the_model():
    """It is also where nothing can be compiled: torch's path may not have a space, for example."""
    weights, norms = train(packed=True)
    expected, expected_norms = train(packed=False)
    torch.testing.assert_close(weights, expected, rtol=1e-9, atol=1e-12)
    assert norms == pytest.approx(expected_norms, rel=1e-9)
