"""FLOPs: torch's count of a pass."""

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from nmt.configuration import load_catalog
from nmt.data.sequences import Sequences, Source
from nmt.models.build import build
from nmt.models.flops import multiply_adds, training_flops
from tests.support.families import FAMILIES, VOCABULARY

# B sentences, S source length, T target length, V vocabulary
B, S, T, V = 3, 20, 25, 50


def build_model(config):
    """Return a model for the small vocabulary."""
    return build(config, V, V)


def torch_flops(config, backward: bool, sentences: int = B) -> int:
    """Return torch's own count for a batch without padding."""
    model = build_model(config).eval()
    source = Source.padded(torch.randint(4, V, (sentences, S)), torch.full((sentences,), S))
    target = Sequences.of(torch.randint(4, V, (sentences, T)))
    with torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
        logits = model.output(model(source, target).target)
        if backward:
            logits.sum().backward()
    return counter.get_total_flops()


@pytest.mark.filterwarnings("ignore:TF32")
@pytest.mark.parametrize("family", FAMILIES)
def test_lengths_never_seen_follow_from_the_six_numbers(family):
    config = FAMILIES[family]
    b = 1 if family.endswith("-xl") else B  # sentences of a batch share the projected distances
    flops = training_flops(multiply_adds(build_model(config)), b, b * S, b * T)
    assert flops == pytest.approx(3 * torch_flops(config, False, sentences=b), rel=1e-12)


@pytest.mark.filterwarnings("ignore:TF32")
@pytest.mark.parametrize(
    "family", ["transformer", "transformer-narrow-keys", "transformer-pre-norm"]
)
def test_the_backward_pass_of_a_transformer_costs_twice_the_forward_one(family):
    config = FAMILIES[family]
    flops = training_flops(multiply_adds(build_model(config)), B, B * S, B * T)
    assert flops == torch_flops(config, backward=True)


def test_a_source_that_is_learned_has_an_output_too():
    model = build(FAMILIES["decoder-only"], VOCABULARY, VOCABULARY)
    without, learned = multiply_adds(model), multiply_adds(model, source_too=True)
    assert learned["source"] - without["source"] == 16 * VOCABULARY
    assert learned["target"] == without["target"]


def test_the_operations_a_step_of_moe_are_the_published_ones(root):
    """Compare with the published 85M (Shazeer et al. 2017, section 5.3).

    Its 8.7G weights are nearly all experts' and say little of the layers.
    """
    config = load_catalog(root / "config").experiment("moe").model
    config = config.model_copy(update={"experts": config.experts_used})
    counts = multiply_adds(build(config, 1000, 1000))
    output = (32000 - 1000) * config.d_model
    assert counts["source"] + counts["target"] + output == pytest.approx(85e6, rel=0.02)
