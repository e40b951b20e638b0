"""FLOPs: torch's count of a pass, and by hand where that is easy."""

import pytest
import torch
from families import FAMILIES, VOCABULARY
from torch.utils.flop_counter import FlopCounterMode

from nmt.configuration import RNNSearch, Seq2Seq, Transformer, load_catalog
from nmt.models.build import build
from nmt.models.flops import multiply_adds, training_flops

# B sentences, S source length, T target length, V vocabulary
B, S, T, V = 3, 20, 25, 50


def built(config):
    return build(config, V, V)


def counted(config, backward: bool) -> int:
    """torch's own count for a batch without padding."""
    model = built(config).eval()
    source, target = torch.randint(4, V, (B, S)), torch.randint(4, V, (B, T))
    with torch.backends.mkldnn.flags(enabled=False), FlopCounterMode(display=False) as counter:
        logits = model.output(model(source, target).target)
        if backward:
            logits.sum().backward()
    return counter.get_total_flops()


@pytest.mark.filterwarnings("ignore:TF32")
@pytest.mark.parametrize("family", FAMILIES)
def test_lengths_never_seen_follow_from_the_six_numbers(family):
    config = FAMILIES[family]
    found = training_flops(multiply_adds(built(config)), B, B * S, B * T)
    assert found == pytest.approx(3 * counted(config, backward=False), rel=1e-12)


@pytest.mark.filterwarnings("ignore:TF32")
@pytest.mark.parametrize(
    "family", ["transformer", "transformer-narrow-keys", "transformer-pre-norm"]
)
def test_the_backward_pass_of_a_transformer_costs_twice_the_forward_one(family):
    config = FAMILIES[family]
    assert training_flops(multiply_adds(built(config)), B, B * S, B * T) == counted(
        config, backward=True
    )


def test_weights_of_the_base_model_are_its_parameters_without_the_table(root):
    """A token of each side meets every weight of the paper's base model, the shared table once, as
    output.
    """
    one = multiply_adds(
        build(load_catalog(root / "config").experiment("transformer-base").model, 1000, 1000)
    )
    matrices = 6 * (4 * 512 * 512 + 2 * 512 * 2048) + 6 * (8 * 512 * 512 + 2 * 512 * 2048)
    assert one["source"] + one["target"] == matrices + 1000 * 512
    assert one["source_source"] == one["target_source"] == one["target_target"] == 6 * 2 * 512


def test_rnnsearch_by_hand():
    one = multiply_adds(built(RNNSearch(d_embedding=6, d_hidden=10, dropout=0)))
    assert one["sentence"] == 10 * 10  # s_0 from the encoder's last state
    assert one["source"] == 2 * 30 * (6 + 10) + 20 * 10  # two GRUs, then U_a
    assert (
        one["target"] == 10 * 10 + 30 * (6 + 20 + 10) + 10 * (10 + 6 + 20) + 5 * V
    )  # W_a, GRU, maxout, output
    assert one["target_source"] == 10 + 20  # v_a, and the sum of states


def test_stacked_lstms_by_hand():
    one = multiply_adds(built(Seq2Seq(layers=2, d_embedding=6, d_hidden=10, dropout=0)))
    stack = 40 * (6 + 10) + 40 * (10 + 10)
    assert (one["source"], one["target"]) == (stack, stack + 10 * V)


def test_a_source_that_is_learned_has_an_output_too():
    model = build(FAMILIES["decoder-only"], VOCABULARY, VOCABULARY)
    without, learned = multiply_adds(model), multiply_adds(model, source_too=True)
    assert learned["source"] - without["source"] == 16 * VOCABULARY
    assert learned["target"] == without["target"]


def test_flops_grow_with_text_as_they_should():
    one = multiply_adds(built(Transformer(layers=2, d_model=16, d_ff=24, heads=4, dropout=0)))
    once = training_flops(one, 10, 100, 120)
    assert training_flops(one, 20, 200, 240) == pytest.approx(2 * once)
    # The same tokens in longer sentences: the weights' share stays, that of attention grows.
    assert training_flops(one, 5, 100, 120) > once


def test_the_operations_a_step_of_moe_are_the_published_ones(root):
    """85M (Shazeer et al. 2017, section 5.3): its 8.7G weights are nearly all experts' and say
    little of the layers.
    """
    config = load_catalog(root / "config").experiment("moe").model
    one = multiply_adds(
        build(config.model_copy(update={"experts": config.experts_used}), 1000, 1000)
    )
    output = (32000 - 1000) * config.d_model
    assert one["source"] + one["target"] + output == pytest.approx(85e6, rel=0.02)
