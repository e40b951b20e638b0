"""FLOPs against torch's own counter, and against what papers print."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from nmt.configuration import RNNSearch, Seq2Seq, Transformer, load_catalogue
from nmt.evaluation.cost import products, sustained_flops, training_flops
from nmt.models.build import build

# B sentences, S source length, T target length, V vocabulary
B, S, T, V = 3, 7, 5, 50

MODELS = [
    Transformer(layers=2, d_model=16, d_ff=24, heads=4, dropout=0),
    Transformer(layers=1, d_model=16, d_ff=24, heads=2, d_k=3, d_v=5, dropout=0, positions="learned"),
    RNNSearch(d_embedding=6, d_hidden=10, dropout=0),
    Seq2Seq(layers=1, d_embedding=6, d_hidden=10, dropout=0),
    Seq2Seq(layers=3, d_embedding=6, d_hidden=10, dropout=0),
]


def counted(config, backward: bool) -> int:
    """torch's own count for a batch without padding."""
    model = build(config, V).eval()
    source, target = torch.randint(4, V, (B, S)), torch.randint(4, V, (B, T))
    # oneDNN's recurrent layers are one operation, which the counter does not know; without it they are products.
    with torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
        logits = model.output(model(source, target))
        if backward:
            logits.sum().backward()
    return counter.get_total_flops()


@pytest.mark.filterwarnings("ignore:TF32")
@pytest.mark.parametrize("config", MODELS, ids=lambda config: config.family)
def test_three_times_the_forward_pass(config):
    assert training_flops(config, V, B, B * S, B * T) == 3 * counted(config, backward=False)


@pytest.mark.filterwarnings("ignore:TF32")
@pytest.mark.parametrize("config", MODELS[:2], ids=["usual", "own widths"])
def test_forward_and_backward_of_a_transformer(config):
    assert training_flops(config, V, B, B * S, B * T) == counted(config, backward=True)


def test_weights_of_the_base_model_are_its_parameters_without_the_table(root):
    """A token of each side meets every weight of the paper's base model, the shared table once, as output."""
    experiment = load_catalogue(root / "config").experiment("transformer-base")
    one = products(experiment.model, 37_000)
    matrices = 6 * (4 * 512 * 512 + 2 * 512 * 2048) + 6 * (8 * 512 * 512 + 2 * 512 * 2048)
    assert one.source + one.target == matrices + 37_000 * 512


def test_flops_grow_with_text_as_they_should():
    config = MODELS[0]
    once = training_flops(config, V, 10, 100, 120)
    assert training_flops(config, V, 20, 200, 240) == pytest.approx(2 * once)
    # The same tokens in longer sentences: the weights' share stays, that of attention grows.
    assert training_flops(config, V, 5, 100, 120) > once


def test_the_paper_counts_time_times_rate():
    """AIAYN Table 2: base 3.3e18 in 12 hours, big 2.3e19 in 3.5 days, on 8 P100 GPUs."""
    hour = 3600
    assert 8 * sustained_flops(12 * hour, "Tesla P100-SXM2-16GB") == pytest.approx(3.3e18, rel=0.01)
    assert 8 * sustained_flops(84 * hour, "Tesla P100-SXM2-16GB") == pytest.approx(2.3e19, rel=0.01)
    assert sustained_flops(hour, "x86_64 CPU") is None
    assert sustained_flops(hour, "NVIDIA H100 80GB HBM3") is None
    assert sustained_flops(hour, "Quadro M4000") is None
