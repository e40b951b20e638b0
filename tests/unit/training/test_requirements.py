"""What training checks before it begins."""

from types import SimpleNamespace

import pytest
import torch

from nmt.configuration import Training
from nmt.errors import UserError
from nmt.training.requirements import require_memory


@pytest.mark.parametrize(("optimizer", "bytes_each"), [("adam", 16), ("adamw", 16), ("sgd", 8)])
def test_memory_is_needed_for_weights_gradients_and_moments(monkeypatch, optimizer, bytes_each):
    settings = Training(updates=1, batch_tokens=1, warmup=1, interval=1, optimizer=optimizer)
    gpu = SimpleNamespace(total_memory=1000 * bytes_each)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _: gpu)
    require_memory(1000, settings, torch.device("cuda"))
    with pytest.raises(UserError, match="choose a smaller experiment"):
        require_memory(1001, settings, torch.device("cuda"))
