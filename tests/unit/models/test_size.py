"""Sizes of models, and building them for values that are loaded."""

import pytest
import torch

from nmt.models.build import build, build_uninitialized, count_parameters, size
from tests.support.families import FAMILIES, VOCABULARY

SIZES = (VOCABULARY, VOCABULARY)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_without_values_has_the_same_parameters(family):
    expected = build(FAMILIES[family], *SIZES)
    model = build_uninitialized(FAMILIES[family], *SIZES, torch.device("cpu"))
    model.load_state_dict(expected.state_dict())
    for (name, ours), (its_name, its) in zip(
        model.state_dict(keep_vars=True).items(),
        expected.state_dict(keep_vars=True).items(),
        strict=True,
    ):
        assert name == its_name
        assert torch.equal(ours, its)
    assert size(FAMILIES[family], *SIZES) == count_parameters(expected)
    for (name, buffer), (_, its_buffer) in zip(
        model.named_buffers(), expected.named_buffers(), strict=True
    ):
        assert torch.equal(buffer, its_buffer), name
