"""The convolutional families against their papers' formulas."""

import math

import pytest
import torch
from torch import nn

from nmt.models.convolution import Convolution
from nmt.models.convs2s import GatedConvolution, scale_gradient
from tests.support.families import random_model, random_sentences, sources


def test_a_gated_convolution_is_the_paper_s_sum():
    torch.manual_seed(0)
    layer = GatedConvolution(3, 4, kernel=3, dropout=0.0)
    x = torch.randn(1, 5, 3)
    weight, bias = layer.convolution.weight, layer.convolution.bias
    window = x[0, 2:5]  # what position 3 sees
    convolved = torch.stack([(weight[c] * window.T).sum() + bias[c] for c in range(8)])
    expected = convolved[:4] * torch.sigmoid(convolved[4:])
    torch.testing.assert_close(layer(x)[0, 3], expected)


def test_weights_are_normalized():
    """All of them but tables: one parameter is each row's length, another its direction."""
    model = random_model("convs2s")
    products = [m for m in model.modules() if isinstance(m, nn.Linear | nn.Conv1d)]
    for module in products:
        length = module.parametrizations.weight.original0
        direction = module.parametrizations.weight.original1
        norms = direction.flatten(1).norm(dim=1)
        expected = length.flatten()[:, None] * direction.flatten(1) / norms[:, None]
        torch.testing.assert_close(module.weight.flatten(1), expected)


def test_attention_restores_the_variance_that_a_mean_loses():
    model = random_model("convs2s")
    source = sources(random_sentences([8]))
    encoded = model.encode(source)
    attention = model.attentions[0]
    h = torch.randn(1, 1, 8).double()
    g = torch.randn(1, 1, 10).double()
    attended, weights = attention(h, g, encoded)
    query = (attention.query(h) + g) * math.sqrt(0.5)
    torch.testing.assert_close(weights, (query @ encoded.keys.mT).softmax(-1))
    context = 3 * weights @ encoded.encoder_states  # the sentence has 9 tokens
    torch.testing.assert_close(attended, (h + attention.out(context)) * math.sqrt(0.5))


def test_gradients_are_scaled_and_values_are_not():
    x = torch.randn(3, requires_grad=True)
    y = scale_gradient(x, 0.25)
    torch.testing.assert_close(y, x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.full((3,), 0.25))


def test_bytenet_unfolds_each_source_by_its_own_length():
    model = random_model("bytenet")
    source = sources(random_sentences([9, 4]))  # 10 and 5 tokens: 12 and 6 columns
    encoded = model.encode(source)
    assert encoded.shape[1] == 12
    assert encoded[1, :6].abs().sum(-1).min() > 0
    assert encoded[1, 6:].abs().max() == 0


# 1.2 times these is a whole number, and more in float32.
@pytest.mark.parametrize("length", [25, 45, 50])
def test_bytenet_unfolds_a_source_alone_as_beside_a_longer_one(length):
    model = random_model("bytenet")
    short, long = random_sentences([length - 1, 60])
    alone = model.encode(sources([short]))
    batched = model.encode(sources([short, long]))[:1]
    assert batched[:, alone.size(1) :].abs().max() == 0
    torch.testing.assert_close(alone, batched[:, : alone.size(1)])


def test_bytenet_sees_as_far_as_its_dilations_reach():
    # Kernel 3, dilations 1, 2, 4, 8, 16: an encoder column reaches 31 to each side.
    model = random_model("bytenet")
    words = random_sentences([40])[0]
    before = model.encode(sources([words]))
    words[0] = 4 if words[0] != 4 else 5
    change = (model.encode(sources([words])) - before).abs().sum(-1)[0]
    assert (change[:32] > 0).all()
    assert (change[32:] == 0).all()


@pytest.mark.parametrize(("kernel", "dilation"), [(1, 1), (3, 1), (3, 4), (2, 3)])
def test_a_convolution_is_torch_s(kernel, dilation):
    ours = Convolution(5, 7, kernel, dilation=dilation).double()
    x = torch.randn(2, 9, 5, dtype=torch.float64)
    for window, before in ((None, ours.reach // 2), (ours.window(x), ours.reach)):
        padded = nn.functional.pad(x, (0, 0, before, ours.reach - before))
        expected = torch.conv1d(padded.mT, ours.weight, ours.bias, dilation=dilation).mT
        torch.testing.assert_close(ours(x, window), expected)
