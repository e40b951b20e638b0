"""Time and memory of layers."""

import torch

from nmt.benchmarks.layer_speed import memory, peak_on_a_cpu, seconds

CPU = torch.device("cpu")


def test_memory_is_the_most_that_is_needed_at_a_time():
    x = torch.zeros(100)
    assert peak_on_a_cpu(lambda: x.view(10, 10)) == 0
    assert peak_on_a_cpu(lambda: x.exp()) == 400
    assert peak_on_a_cpu(lambda: x.exp().exp().exp()) == 800  # The first is not needed any more.


def test_memory_of_self_attention_grows_with_the_square_of_the_length():
    small, large = (memory("self-attention", n, 16, CPU) for n in (128, 256))
    for key in ("forward_bytes", "bytes"):
        assert 3 < large[key] / small[key] < 4
        assert small["bytes"] >= small["forward_bytes"]


def test_both_passes_take_time():
    measured = seconds("recurrent", 4, 8, CPU)
    assert measured.keys() == {"forward_seconds", "backward_seconds"}
    assert all(value > 0 for value in measured.values())
