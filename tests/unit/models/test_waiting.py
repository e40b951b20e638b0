"""No family makes a GPU wait: the meta device's tensors have no values that could be asked for."""

import pytest
import torch

from nmt.configuration import Decoding
from nmt.decoding.search import Beams, step_in_place, take_step
from nmt.models.build import build_uninitialized
from nmt.training.objective import cross_entropy
from tests.support.families import (
    FAMILIES,
    VOCABULARY,
    random_sentences,
    sources,
    target_inputs,
    target_outputs,
)

META = torch.device("meta")
SOURCE = sources(random_sentences([5, 2, 7])).to(META)
TARGETS = random_sentences([4, 6, 3], seed=1)
# A mixture's tensors depend on which tokens are real and how many go to each expert: it waits.
FAMILIES_WITHOUT_EXPERTS = [name for name in FAMILIES if name != "moe"]


@pytest.fixture(params=FAMILIES_WITHOUT_EXPERTS)
def model(request):
    return build_uninitialized(FAMILIES[request.param], VOCABULARY, VOCABULARY, META)


def test_losses_and_gradients_never_wait(model):
    hidden = model(SOURCE, target_inputs(TARGETS).to(META))
    loss, _ = cross_entropy(hidden.target, model.output, target_outputs(TARGETS).to(META), 0.1)
    loss.backward()


@torch.inference_mode()
def test_steps_of_search_never_wait(model):
    model.eval()
    state, decoding = model.start(SOURCE), Decoding(beam=2)
    beams = Beams.of([9, 9, 9], 2, META)
    for steps in (1, 2):
        beams, _ = take_step(model, state, beams, decoding, steps)
    step = step_in_place(model, state, beams, decoding)
    assert step.finished.device == META
