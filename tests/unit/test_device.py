"""Which GPU a process gets, where torch says that there are some."""

import multiprocessing
import time
from types import SimpleNamespace

import pytest
import torch

from nmt import device
from nmt.device import choose_device, claim
from nmt.errors import UserError

NAMES = ["GPU-first", "GPU-second"]


@pytest.fixture(autouse=True)
def claims(monkeypatch, tmp_path):
    """Let claims lie in tmp_path."""
    monkeypatch.setattr(device.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(device, "CLAIMS", {})


@pytest.fixture
def two_gpus(monkeypatch):
    """Let torch say that there are two GPUs."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(NAMES))
    properties = [SimpleNamespace(uuid=name) for name in NAMES]
    monkeypatch.setattr(torch.cuda, "get_device_properties", properties.__getitem__)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    settings = torch.backends.cudnn.allow_tf32, torch.backends.cuda.cudnn_sdp_enabled()
    yield
    torch.backends.cudnn.allow_tf32 = settings[0]
    torch.backends.cuda.enable_cudnn_sdp(settings[1])


def claim_and_wait(pipe):
    pipe.send(claim(NAMES))
    time.sleep(600)


def test_processes_get_different_gpus_and_free_them_when_they_are_killed():
    context = multiprocessing.get_context("fork")  # another start would import torch again
    processes = []

    def claimed() -> int | None:
        pipe, other_end = context.Pipe()
        processes.append(context.Process(target=claim_and_wait, args=(other_end,)))
        processes[-1].start()
        return pipe.recv()

    try:
        assert [claimed() for _ in range(3)] == [0, 1, None]
        processes[0].kill()
        processes[0].join()
        assert claimed() == 0
    finally:
        for process in processes:
            process.kill()
            process.join()


def test_a_gpu_that_was_asked_for_is_not_shared(two_gpus, monkeypatch, caplog):
    of_other_processes = []
    for number in range(len(NAMES)):
        assert choose_device(gpus=1).index == number
        of_other_processes.append(device.CLAIMS)
        monkeypatch.setattr(device, "CLAIMS", {})
    with pytest.raises(UserError, match="gpu=2"):
        choose_device(gpus=1)
    assert choose_device().type == "cuda"
    assert "gets more" in caplog.text


def test_a_process_that_chooses_twice_keeps_its_gpu(two_gpus, caplog):
    assert [choose_device(gpus=1).index for _ in range(3)] == [0, 0, 0]
    assert not caplog.messages


def test_ranks_that_find_no_free_gpu_share_as_their_numbers_say(two_gpus, monkeypatch):
    monkeypatch.setattr(device, "claim", lambda names: None)
    monkeypatch.setenv("LOCAL_RANK", "3")
    assert choose_device().index == 1


def test_a_gpu_that_is_asked_for_and_not_there_is_said_with_torch_s_reason(monkeypatch):
    def init():
        raise RuntimeError("The driver is too old (found 1).\nUpdate it")

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "init", init)
    with pytest.raises(UserError, match="driver is too old"):
        choose_device(gpus=1)
    assert choose_device().type == "cpu"
