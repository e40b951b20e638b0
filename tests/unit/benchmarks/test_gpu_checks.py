"""What gpu_checks calls right and wrong."""

import math

import pytest
import torch

from nmt.benchmarks import gpu_checks
from nmt.benchmarks.gpu_checks import CPU, Workload, agreement

DEVICE = torch.device("meta")


@pytest.mark.parametrize(
    ("on_cpu", "on_device", "state"),
    [
        ({"float32": 1e-6, "bfloat16": 1e-2}, {"float32": 9e-5, "bfloat16": 1.9e-2}, "right"),
        ({"float32": 1e-6, "bfloat16": 1e-2}, {"float32": 2e-4, "bfloat16": 1e-2}, "WRONG"),
        ({"float32": 1e-6, "bfloat16": 1e-2}, {"float32": 1e-6, "bfloat16": 2.1e-2}, "WRONG"),
        # Luong's gradient is chaotic before training.
        ({"float32": 0.06, "bfloat16": 2.6}, {"float32": 0.05, "bfloat16": 9.0}, "right"),
        ({"float32": 0.06, "bfloat16": 2.6}, {"float32": 0.13, "bfloat16": 2.6}, "WRONG"),
        ({"float32": 0.06, "bfloat16": 2.6}, {"float32": 0.05, "bfloat16": math.nan}, "WRONG"),
        ({"float32": math.nan, "bfloat16": 1e-2}, {"float32": 1e-6, "bfloat16": 1e-2}, "WRONG"),
    ],
)
def test_a_gradient_is_wrong_whose_error_is_larger_than_the_cpu_s(
    monkeypatch, on_cpu, on_device, state
):
    def gradient(_experiment, _work, device, precision):
        errors = {"float64": 0.0, **(on_cpu if device == CPU else on_device)}
        return torch.tensor([1.0 + errors[precision]], dtype=torch.float64)

    monkeypatch.setattr(gpu_checks, "gradient", gradient)
    work = Workload([], [], None, DEVICE, None, 1, 1)
    assert agreement(None, work)[2] == state
