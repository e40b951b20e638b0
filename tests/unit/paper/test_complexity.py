"""AIAYN's Table 1, counted on the layers of this project."""

import math

import pytest
import torch

from nmt.files import write_lines
from nmt.models.attention import attention_weights
from nmt.paper.complexity import exponent, operations, path_length, sequential_operations
from nmt.paper.layer_costs import FILE, along, layer_costs, layers_sheet, three_digits
from nmt.paper.layer_types import HEADS, KERNEL, LAYER_TYPES, NEIGHBORS, ScaledDotProduct
from tests.support.paper_runs import layer_measurements

PRINTED = [name for name, layer_type in LAYER_TYPES.items() if layer_type.exponents]


@pytest.mark.parametrize("name", LAYER_TYPES)
def test_only_recurrent_layers_take_more_steps_for_more_positions(name):
    short, long = (sequential_operations(LAYER_TYPES[name].build(16), n) for n in (8, 24))
    assert long - short == (16 * 10 if name == "recurrent" else 0)


def test_paths_are_as_long_as_the_paper_says():
    n = 40
    expected = {
        "self-attention": 1,
        "self-attention-projected": 1,
        "recurrent": n,
        "convolutional": math.ceil(math.log2(n)),
        "convolutional-contiguous": math.ceil((n - 1) / ((KERNEL - 1) / 2)),
        "self-attention-restricted": math.ceil((n - 1) / ((NEIGHBORS - 1) / 2)),
    }
    assert {name: path_length(layer, n) for name, layer in LAYER_TYPES.items()} == expected


@pytest.mark.parametrize("name", PRINTED)
def test_operations_grow_with_the_printed_exponents(name):
    layer_type = LAYER_TYPES[name]
    assert layer_type.exponents is not None
    by_length = [operations(layer_type.build(32), n, 32) for n in (32, 64)]
    by_width = [operations(layer_type.build(d), 32, d) for d in (32, 64)]
    fitted = (exponent([32, 64], by_length), exponent([32, 64], by_width))
    assert fitted == pytest.approx(layer_type.exponents, abs=1e-6)


def test_restricted_attention_is_attention_with_a_band_of_keys():
    x = torch.randn(2, 50, 16, dtype=torch.float64)
    position = torch.arange(50)
    far = (position[:, None] - position).abs() > 2
    mask = torch.zeros(50, 50, dtype=torch.float64).masked_fill(far, -math.inf)
    heads = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)
    expected = (attention_weights(heads, heads, mask) @ heads).transpose(1, 2).flatten(2)
    torch.testing.assert_close(ScaledDotProduct(5)(x), expected)
    torch.testing.assert_close(ScaledDotProduct(99)(x), ScaledDotProduct()(x))


def test_measurements_are_medians_and_their_exponents_are_fitted(tmp_path):
    write_lines(tmp_path / FILE, layer_measurements(["recurrent"]))
    data, where = layer_costs(tmp_path)
    assert "medians of 3 interleaved rounds" in where
    assert list(along(data, "n").n) == [4, 8, 16]
    assert list(along(data, "d").d) == [4, 8, 16]
    by_n, by_d, *sizes = layers_sheet(tmp_path).parts
    assert list(by_n.iloc[0]) == ["Recurrent (LSTM)", "1", "1.00", "1.00", "1.00", "1.00"]
    assert list(by_d.iloc[0]) == ["Recurrent (LSTM)", "2", "2.00", "2.00", "1.00", "1.00"]
    assert sizes[0].iloc[0]["ms, n\u00a0=\u00a016"] == "1,020 + 2,050"


def test_numbers_have_three_digits_and_no_exponent():
    assert [three_digits(x) for x in (1234.5, 0.01234, 12.0)] == ["1,230", "0.0123", "12"]
