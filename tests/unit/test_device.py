"""Which GPU a process gets, where torch says that there are some."""

import errno
import multiprocessing
import os
import time
from types import SimpleNamespace

import pytest
import torch

from nmt import device, files
from nmt.device import choose_device, claim
from nmt.errors import UserError

NAMES = ["GPU-first", "GPU-second"]


@pytest.fixture
def two_gpus(monkeypatch, tmp_path):
    """Let torch say that there are two GPUs, and claims lie in tmp_path."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: len(NAMES))
    properties = [SimpleNamespace(uuid=name) for name in NAMES]
    monkeypatch.setattr(torch.cuda, "get_device_properties", properties.__getitem__)
    monkeypatch.setattr(torch.cuda, "set_device", lambda _: None)
    monkeypatch.setattr(device.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(device, "CLAIMS", {})
    settings = torch.backends.cudnn.allow_tf32, torch.backends.cuda.cudnn_sdp_enabled()
    yield
    torch.backends.cudnn.allow_tf32 = settings[0]
    torch.backends.cuda.enable_cudnn_sdp(settings[1])


def claim_and_wait(pipe, folder):
    pipe.send(claim(NAMES, folder))
    time.sleep(600)


def test_processes_get_different_gpus_and_free_them_when_they_are_killed(tmp_path):
    context = multiprocessing.get_context("fork")  # another start would import torch again
    processes = []

    def claimed() -> int | None:
        pipe, other_end = context.Pipe()
        processes.append(context.Process(target=claim_and_wait, args=(other_end, tmp_path)))
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
    with pytest.raises(UserError, match=r"all that are seen here \(2\) have work of yours already"):
        choose_device(gpus=1)
    assert choose_device().type == "cuda"
    assert "gets more" in caplog.text


def test_a_process_that_chooses_twice_keeps_its_gpu(two_gpus, caplog):
    assert [choose_device(gpus=1).index for _ in range(3)] == [0, 0, 0]
    assert not caplog.messages


def test_a_gpu_computes_float32_exactly_and_attention_without_plans_for_each_shape(two_gpus):
    torch.backends.cudnn.allow_tf32 = True
    torch.backends.cuda.enable_cudnn_sdp(True)
    choose_device()
    assert not torch.backends.cudnn.allow_tf32
    assert not torch.backends.cuda.cudnn_sdp_enabled()


def test_claims_are_for_their_user_alone(tmp_path, monkeypatch):
    umask = os.umask(0)
    try:
        claim(NAMES, tmp_path / "claims")
    finally:
        os.umask(umask)
    assert (tmp_path / "claims").stat().st_mode & 0o777 == 0o700
    # A link that another user has put there may lead to a folder of ours.
    (tmp_path / "link").symlink_to(tmp_path / "claims")
    lstat = device.Path.lstat
    monkeypatch.setattr(device.os, "getuid", lambda: lstat(tmp_path / "link").st_uid + 1)
    with pytest.raises(UserError, match="belongs to another user"):
        claim(NAMES, tmp_path / "link")


def test_ranks_get_different_gpus_where_files_have_no_locks(two_gpus, monkeypatch):
    def no_locks(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(files.fcntl, "flock", no_locks)
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert choose_device(gpus=2).index == 1


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        (
            RuntimeError("The NVIDIA driver on your system is too old (found 1).\nUpdate it"),
            "torch can use none: The NVIDIA driver on your system is too old (found 1). Ask for",
        ),
        (
            AssertionError("Torch not compiled with CUDA enabled"),
            "not compiled with CUDA enabled. ",
        ),
        (None, "torch sees none (CUDA_VISIBLE_DEVICES may hide them). Ask for none (gpu: 0)"),
    ],
)
def test_a_gpu_that_is_asked_for_and_not_there_is_said_with_the_reason(
    monkeypatch, reason, sentence
):
    def init():
        if reason:
            raise reason

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.cuda, "init", init)
    with pytest.raises(UserError) as refused:
        choose_device(gpus=1)
    assert sentence in str(refused.value)
    assert choose_device().type == "cpu"
