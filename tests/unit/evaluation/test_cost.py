"""The cost of a training, as the paper estimates it."""

import pytest

from nmt.evaluation.cost import sustained_flops


def test_the_paper_counts_time_times_rate():
    """AIAYN Table 2: base 3.3e18 in 12 hours, big 2.3e19 in 3.5 days, on 8 P100 GPUs."""
    hour = 3600
    assert 8 * sustained_flops(12 * hour, "Tesla P100-SXM2-16GB") == pytest.approx(3.3e18, rel=0.01)
    assert 8 * sustained_flops(84 * hour, "Tesla P100-SXM2-16GB") == pytest.approx(2.3e19, rel=0.01)
    assert sustained_flops(hour, "x86_64 CPU") is None
    assert sustained_flops(hour, "NVIDIA H100 80GB HBM3") is None
    assert sustained_flops(hour, "Quadro M4000") is None
