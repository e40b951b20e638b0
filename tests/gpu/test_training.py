"""What must be true of training on a GPU: `pytest -m gpu` where there is one."""

import numpy as np
import pytest
import torch

from nmt.configuration import Decoding
from nmt.data.batch import Batch, UpdateBatch
from nmt.decoding.forced import force
from nmt.decoding.search import REPEATS, search
from nmt.models.build import build
from nmt.models.experts import Experts
from nmt.training.distributed import ProcessGroup
from nmt.training.state import Counters, load_state, save_state
from nmt.training.trainer import Trainer
from tests.support.families import (
    FAMILIES,
    VOCABULARY,
    random_model,
    random_sentences,
    sources,
    target_inputs,
    target_outputs,
)
from tests.support.tiny_training import settings

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU"),
]
CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture(autouse=True)
def _attention_as_in_scripts():
    """Do without cuDNN's attention, as `nmt.device.choose_device` does."""
    torch.backends.cuda.enable_cudnn_sdp(False)


def make_trainer(family: str, device: torch.device, precision: str = "float32", **changes):
    """Return the trainer of a new model, whose weights are the same on any device."""
    torch.manual_seed(1)
    model = build(FAMILIES[family].model_copy(update=changes), VOCABULARY, VOCABULARY)
    for module in model.modules():
        if isinstance(module, Experts):  # as gates start, all are equal, and the choice is chance
            torch.nn.init.normal_(module.gate)
    training = settings(gradient_clip=1.0, precision=precision)
    return Trainer(model.to(device), training, ProcessGroup(device), seed=1)


def update_batch(device: torch.device, seed: int = 1) -> UpdateBatch:
    """Return an update of two micro-batches."""
    target = random_sentences([4, 6, 3], seed)
    source = sources(random_sentences([5, 2, 7], seed))
    batch = Batch(source, target_inputs(target), target_outputs(target)).to(device)
    return UpdateBatch(1, 1, np.arange(3), 34, 32, {0: batch, 1: batch})


def loss_and_gradient(family: str, device: torch.device, precision: str) -> torch.Tensor:
    """Return the loss of a batch and its gradient, without dropout, on the CPU in float64."""
    double = precision == "float64"
    trainer = make_trainer(family, device, "float32" if double else precision, dropout=0.0)
    for parameter in trainer.model.parameters():
        parameter.grad = None  # of another type than a float64 model's
    if double:
        trainer.model.double()
    # Experts are without noise only in evaluation, in which cuDNN has no gradients.
    trainer.model.train(family != "moe")
    total, _ = trainer.objective(update_batch(device).micro_batches[0], with_source=False)
    total.backward()
    gradients = [  # experts that nobody chose have none
        torch.zeros_like(parameter).flatten()
        if parameter.grad is None
        else parameter.grad.flatten()
        for parameter in trainer.model.parameters()
    ]
    return torch.cat([total.detach()[None], *gradients]).cpu().double()


@pytest.mark.parametrize("precision", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_loss_and_gradient_agree_with_the_cpu(family, precision):
    with torch.backends.cudnn.flags(enabled=family != "moe", allow_tf32=False):
        exact, on_cpu, on_gpu = (
            loss_and_gradient(family, device, chosen)
            for device, chosen in ((CPU, "float64"), (CPU, precision), (GPU, precision))
        )
    smallest = {"float64": 1e-9, "float32": 1e-4, "bfloat16": 3e-2}[precision]
    if family == "convs2s":
        smallest = max(smallest, 1e-7)  # a GPU normalizes weights in float32
    error, error_on_cpu = ((x - exact).norm() / exact.norm() for x in (on_gpu, on_cpu))
    assert error <= max(2 * error_on_cpu, smallest)  # NaN is not


@pytest.mark.parametrize("family", FAMILIES)
def test_a_saved_state_goes_on_bit_for_bit(family, tmp_path, monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it
    torch.use_deterministic_algorithms(True)
    try:
        whole, resumed = (make_trainer(family, GPU) for _ in range(2))
        for number in (1, 2, 3, 4):
            batch = update_batch(GPU, seed=number)
            whole.train_step(batch, 1e-3, number)
            if number == 2:
                save_state(tmp_path / "state", whole, Counters(), "")
                load_state(tmp_path / "state", resumed, "")
            elif number > 2:
                resumed.train_step(batch, 1e-3, number)
    finally:
        torch.use_deterministic_algorithms(False)
    for one, other in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize("family", sorted(FAMILIES.keys() - {"moe"}))  # whose experts' sizes differ
def test_an_update_never_waits_for_the_gpu(family):
    # cuDNN waits where it drops out between layers of LSTMs.
    trainer, batch = make_trainer(family, GPU, dropout=0.0), update_batch(GPU)
    trainer.train_step(batch, 1e-3, 1)  # loads kernels
    torch.cuda.set_sync_debug_mode("error")
    try:
        trainer.train_step(batch, 1e-3, 2)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@pytest.mark.parametrize("family", FAMILIES)
def test_what_search_finds_in_half_precision_is_as_probable_on_the_cpu(family):
    exact = random_model(family)
    fast = random_model(family).to(GPU, torch.float16)
    found = search(fast, update_batch(GPU).micro_batches[0].source, [9, 9, 9], Decoding(beam=3))
    targets = [best.tokens for (best,) in found]
    forced = force(exact, update_batch(CPU).micro_batches[0].source, targets, Decoding())
    for (best,), (same,) in zip(found, forced, strict=True):
        assert best.log_prob == pytest.approx(same.log_prob, rel=3e-2, abs=3e-2)


@pytest.mark.parametrize("beam", [1, 4])
@pytest.mark.parametrize("family", FAMILIES)
def test_repeated_steps_find_what_single_ones_find(family, beam, monkeypatch):
    model, source = random_model(family).to(GPU), update_batch(GPU).micro_batches[0].source
    repeated = search(model, source, [70, 5, 40], Decoding(beam=beam))
    monkeypatch.setitem(REPEATS, "cuda", 0)
    single = search(model, source, [70, 5, 40], Decoding(beam=beam))
    assert [best.tokens for (best,) in repeated] == [best.tokens for (best,) in single]
