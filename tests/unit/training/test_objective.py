"""The chunked loss against torch's: values and gradients."""

import pytest
import torch
import torch.nn.functional as F
from torch.utils.flop_counter import FlopCounterMode

from nmt import device
from nmt.models.protocol import PAD
from nmt.training.objective import cross_entropy


@pytest.fixture(params=[True, False], ids=["bias", "no-bias"])
def case(request, monkeypatch):
    monkeypatch.setattr(device, "CPU_ROWS", 16)
    torch.manual_seed(0)
    hidden = torch.randn(3, 21, 8, dtype=torch.float64, requires_grad=True)
    output = torch.nn.Linear(8, 37, bias=request.param, dtype=torch.float64)
    targets = torch.randint(PAD, 37, (3, 21))
    targets[1, 15:] = PAD
    return hidden, output, targets


def test_a_loss_alone_costs_one_product(case):
    hidden, output, targets = case
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        cross_entropy(hidden, output, targets, 0.1)
    assert counter.get_total_flops() == 2 * 63 * 8 * 37


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.3])
def test_agrees_with_torch(case, smoothing):
    hidden, output, targets = case
    loss, nll = cross_entropy(hidden, output, targets, smoothing)
    (2 * loss).backward()
    tensors = hidden, *output.parameters()
    gradients = [tensor.grad.clone() for tensor in tensors]
    for tensor in tensors:
        tensor.grad = None

    def torch_loss(label_smoothing):
        return F.cross_entropy(
            output(hidden).flatten(0, 1),
            targets.flatten(),
            ignore_index=PAD,
            label_smoothing=label_smoothing,
            reduction="sum",
        )

    expected = torch_loss(smoothing)
    (2 * expected).backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12)
    assert nll.item() == pytest.approx(torch_loss(0.0).item(), rel=1e-12)
    for gradient, tensor in zip(gradients, tensors, strict=True):
        torch.testing.assert_close(gradient, tensor.grad, rtol=1e-9, atol=1e-11)


def test_bfloat16_is_near(case):
    hidden, output, targets = case
    hidden = hidden.detach().float().requires_grad_()
    output = output.float()
    exact, exact_nll = cross_entropy(hidden, output, targets, 0.1)
    loss, nll = cross_entropy(hidden, output, targets, 0.1, torch.bfloat16)
    loss.backward()
    assert loss.item() == pytest.approx(exact.item(), rel=0.01)
    assert nll.item() == pytest.approx(exact_nll.item(), rel=0.01)
    assert hidden.grad.dtype == output.weight.grad.dtype == torch.float32


def test_a_certain_mistake_costs_much_but_not_infinitely():
    output = torch.nn.Linear(1, 5, bias=False)
    with torch.no_grad():
        output.weight.copy_(torch.tensor([[0.0], [0.0], [0.0], [1.0], [0.0]]))
    loss, nll = cross_entropy(torch.full((1, 1, 1), 500.0), output, torch.tensor([[4]]), 0.0)
    assert 80 < nll.item() < 500
    assert torch.isfinite(loss)
