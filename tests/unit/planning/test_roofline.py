"""Kernels counted without computing, and the time that they are predicted to take."""

import pytest
import torch
import torch.nn.functional as F

from nmt.configuration import Experiment, Training, load_catalog
from nmt.data.batch import Batch, UpdateBatch
from nmt.data.source import Source
from nmt.models.build import build
from nmt.models.flops import multiply_adds, training_flops
from nmt.planning.gpu_functions import GPUFunctions
from nmt.planning.kernels import Count, Kernel, count_update
from nmt.planning.meta import META
from nmt.planning.roofline import GPUS, Curve, Device, constant, predict, predict_training
from nmt.planning.texts import Texts
from tests.support.families import FAMILIES, VOCABULARY
from tests.support.files import ROOT

PUBLISHED = 82_059  # target tokens/s of Transformer big on one A100: NVIDIA DeepLearningExamples
SIZES = (VOCABULARY, VOCABULARY)


def experiment(family: str, **changes) -> Experiment:
    """Return an experiment with a small model."""
    training = {"updates": 9, "batch_tokens": 99, "warmup": 1, "interval": 9}
    training["peak_learning_rate"] = 0.1
    return Experiment(
        title="small",
        vocabulary="none",
        model=FAMILIES[family],
        training=Training(**training | changes),
        decoding={},
    )


def update(source: int, target: int, micro_batches: int = 1, device=META) -> UpdateBatch:
    """Return an update of sentences of these lengths, without padding."""
    lengths = torch.full((3,), source)
    tokens = [torch.full((3, length), 5, device=device) for length in (source, target)]
    batch = Batch(Source(tokens[0], lengths), tokens[1], tokens[1])
    batches = dict.fromkeys(range(micro_batches), batch)
    return UpdateBatch(1, 1, torch.arange(3).numpy(), 3 * source, 3 * target, 0, batches)


@pytest.mark.parametrize("family", FAMILIES)
def test_products_are_those_of_the_models_own_account(family):
    config = FAMILIES[family]
    source_loss = ((0, 1.0),) if config.learns_source else ()
    count = count_update(experiment(family, source_loss=source_loss), SIZES, update(10, 10))
    # Attention's backward pass makes the scores anew; elsewhere backward costs twice forward.
    flops = sum(
        kernel.flops / (1.25 if kernel.name == "fused_attention_backward" else 1)
        for kernel in count.micro_batches
    )
    counts = multiply_adds(build(config, *SIZES), source_too=config.learns_source)
    # With a prefix the source's last states reach no loss, and have no backward pass.
    tolerance = 0.15 if config.family == "decoder-only" and config.prefix else 0.05
    assert flops == pytest.approx(training_flops(counts, 3, 30, 30), rel=tolerance)


def test_a_mask_of_fused_attention_is_read():
    moved = []
    q = torch.empty(2, 4, 10, 8, device=META)
    mask = torch.empty(2, 4, 10, 10, device=META)
    for given in (None, mask):
        with GPUFunctions(lambda name, flops, moved_bytes, dtype: moved.append(moved_bytes), None):
            F.scaled_dot_product_attention(q, q, q, given, is_causal=False)
    assert moved[1] - moved[0] == 4 * mask.numel()


def test_a_large_update_is_told_from_one_of_its_micro_batches():
    few = count_update(experiment("transformer"), SIZES, update(8, 8, 5))
    many = count_update(experiment("transformer"), SIZES, update(8, 8, 10))
    assert (few.repeats, many.repeats) == (1, 5)
    assert many.repeats * len(many.micro_batches) == pytest.approx(2 * len(few.micro_batches), 0.1)
    assert len(many.step) == len(few.step) < 30


def test_weights_that_the_backward_pass_needs_are_counted_once():
    small = experiment("transformer")
    model = small.model.model_copy(update={"d_model": 256, "d_ff": 1024})
    large = small.model_copy(update={"model": model})
    weights = 4 * sum(p.numel() for p in build(large.model, *SIZES).parameters())
    # With their gradients and two moments, beside the few numbers that six tokens keep
    assert count_update(large, SIZES, update(1, 1)).memory == pytest.approx(4 * weights, rel=0.1)


def test_autocast_halves_what_products_move():
    def moved(precision):
        count = count_update(experiment("transformer", precision=precision), SIZES, update(8, 8))
        return sum(kernel.bytes for kernel in count.micro_batches if kernel.name == "mm")

    assert moved("bfloat16") == pytest.approx(moved("float32") / 2, rel=0.05)


def test_what_bounds_an_update():
    one = constant(1.0)
    device = Device("one", {torch.float32: one}, one, launch=0.25, shortest=0.5)

    def prediction(flops, moved, device=device):
        kernel = Kernel("any", flops, moved, torch.float32)
        return predict(Count([kernel], [], 2.0, memory=7, target_tokens=6), device)

    assert prediction(3, 1).bound == "compute"
    assert prediction(3, 1).seconds == 6
    assert prediction(1, 3).bound == "memory"
    assert prediction(0, 0).seconds == 1
    assert prediction(3, 1).tokens_per_second == 1
    slow_host = Device("slow", {torch.float32: one}, one, launch=9)
    assert prediction(3, 1, slow_host).bound == "launches"
    one_by_one = Device("cpu", {torch.float32: one}, one, launch=0.25, overlaps=False)
    assert prediction(3, 1, one_by_one).seconds == 6.5


def test_a_rate_depends_on_the_kernel():
    curve = Curve(((1.0, 10.0), (100.0, 1000.0)))
    assert [curve(x) for x in (0.1, 1, 10, 100, 1000)] == pytest.approx([10, 10, 100, 1000, 1000])
    device = Device("any", {torch.float32: curve}, curve, shortest=0.0, functions={"tanh": 2.0})
    product = Kernel("mm", 1000.0, 100.0, torch.float32)
    assert device.seconds(product) == pytest.approx((10, 0.1))
    tanh = Kernel("tanh_", 0, 100.0, torch.float32)
    assert device.seconds(tanh) == pytest.approx((0, 50))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_cpus_update_has_the_products_of_a_gpus(family):
    meta, cpu = (
        count_update(experiment(family), SIZES, update(10, 10, device=device), device)
        for device in (META, torch.device("cpu"))
    )

    def flops(count, backward):
        # A GPU's attention makes the scores anew for its backward pass.
        kernels = [*count.micro_batches, *count.step]
        return sum(k.flops / (backward if "attention_backward" in k.name else 1) for k in kernels)

    assert flops(cpu, 1) == pytest.approx(flops(meta, 1.25), rel=0.05)
    assert cpu.target_tokens == meta.target_tokens


def test_the_published_rate_of_the_big_model():
    big = load_catalog(ROOT / "config").experiment("transformer-big")
    texts = Texts(ROOT / "no-such-folder", (37_000, 37_000), 256)
    prediction = predict_training(big, texts, GPUS["a100"])
    assert prediction.tokens_per_second == pytest.approx(PUBLISHED, rel=0.2)
