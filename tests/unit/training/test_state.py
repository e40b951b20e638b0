"""The settings that identify a training, how its folder records them, and its state."""

import copy
from pathlib import Path

import pytest
import torch

from nmt.errors import UserError
from nmt.files import read_json
from nmt.training.counters import Counters
from nmt.training.run_folder import checkpoints_to_average, locked, record_settings
from nmt.training.state import load_state, save_state
from tests.support import tiny_training

SETTINGS = {"model": {"layers": 2}, "training": {"warmup": 10, "adam_betas": [0.9, 0.98]}}


def test_settings_are_recorded_and_found_again(tmp_path):
    record_settings(tmp_path, SETTINGS)
    record_settings(tmp_path, SETTINGS | {"model": {"layers": 2, "new": None}})
    assert read_json(tmp_path / "settings.json")["model"] == {"layers": 2, "new": None}


def test_a_default_that_changed_is_no_way_to_go_on(tmp_path):
    record_settings(tmp_path, SETTINGS)
    with pytest.raises(UserError, match="warmup 10"):
        record_settings(tmp_path, SETTINGS | {"training": {"warmup": 20}})
    assert read_json(tmp_path / "settings.json")["training"]["warmup"] == 10


def test_a_state_is_restored_and_refused_to_others(tmp_path):
    loop = tiny_training.make_loop(tiny_training.prepare(tmp_path))
    path, trainer = loop.folder.state, loop.trainer
    loop.train_step()
    for _ in range(2):
        save_state(path, trainer, loop.counters, "fingerprint")
        expected = copy.deepcopy(
            (trainer.model.state_dict(), trainer.optimizer.state_dict()["state"])
        )
        loop.train_step()
        restored = load_state(path, trainer, "fingerprint")
        assert restored.update == loop.counters.update - 1
        actual = trainer.model.state_dict(), trainer.optimizer.state_dict()["state"]
        torch.testing.assert_close(actual, expected, rtol=0, atol=0)
    # What is replaced frees its room on the disk.
    assert str(path) not in Path("/proc/self/maps").read_text(encoding="utf-8")
    with pytest.raises(UserError, match=str(path)):
        load_state(path, trainer, "another")
    assert load_state(tmp_path / "none", trainer, "fingerprint") == Counters()


def test_a_folder_is_held_by_one_process(tmp_path):
    with locked(tmp_path), pytest.raises(UserError, match=str(tmp_path)), locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_the_last_checkpoints_are_averaged_or_the_best_is_taken(tmp_path):
    settings = tiny_training.settings(updates=50, interval=20, average=2)
    names = ["00000020", "00000040", "00000050", "best-00000020", "best-00000040"]
    for name in names:
        (tmp_path / f"{name}.safetensors").touch()

    def chosen(**changes):
        paths = checkpoints_to_average(tmp_path, settings.model_copy(update=changes), 50)
        return [path.stem for path in paths]

    assert chosen() == ["00000040", "00000050"]
    assert chosen(checkpoint="best") == ["best-00000040"]
    (tmp_path / "00000040.safetensors").unlink()
    with pytest.raises(UserError, match=r"00000040\.safetensors"):
        chosen()
