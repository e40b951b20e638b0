"""The settings that identify a training, how its folder records them, and its state."""

from pathlib import Path

import pytest
import torch

from nmt.configuration import Seq2Seq, Training, Transformer
from nmt.errors import UserError
from nmt.files import read_json
from nmt.training.counters import Counters
from nmt.training.distributed import ProcessGroup
from nmt.training.run_folder import record_settings
from nmt.training.state import load_state, save_state
from nmt.training.trainer import Trainer
from tests.support.families import random_model

SETTINGS = {
    "model": {"layers": 2},
    "training": {"warmup": 10, "adam_betas": (0.9, 0.98)},
    "seed": 1,
}


def test_a_new_key_with_a_default_changes_no_name():
    sizes = {"layers": 2, "d_model": 16, "d_ff": 8, "heads": 4, "dropout": 0.1}
    assert Transformer(**sizes).chosen() == {"class": "Transformer"} | sizes
    assert Transformer(**sizes, norm="post").chosen() == Transformer(**sizes).chosen()
    assert Transformer(**sizes, norm="pre").chosen() != Transformer(**sizes).chosen()
    assert Seq2Seq(layers=2, d_embedding=8, d_hidden=8, dropout=0.1).chosen()["class"] == "Seq2Seq"


def test_settings_are_recorded_and_found_again(tmp_path):
    record_settings(tmp_path, SETTINGS)
    record_settings(tmp_path, SETTINGS | {"model": {"layers": 2, "new": None}})
    assert read_json(tmp_path / "settings.json")["model"] == {"layers": 2, "new": None}


def test_a_default_that_changed_is_no_way_to_go_on(tmp_path):
    record_settings(tmp_path, SETTINGS)
    message = "begun with warmup 10, which is 20 now: move the folder away"
    with pytest.raises(UserError, match=message):
        record_settings(tmp_path, SETTINGS | {"training": {"warmup": 20}})
    assert read_json(tmp_path / "settings.json")["training"]["warmup"] == 10


def test_counters_of_an_earlier_version_are_read():
    saved = {"update": 7, "position": 3, "positions": 90, "logged_positions": 80}
    expected = Counters(update=7, update_in_epoch=3, padded_tokens=90, logged_padded_tokens=80)
    assert Counters.of_state(saved) == expected


def test_a_state_that_is_replaced_frees_its_room_on_the_disk(tmp_path):
    settings = Training(updates=9, batch_tokens=99, warmup=1, interval=9)
    trainer = Trainer(random_model("transformer"), settings, ProcessGroup(torch.device("cpu")), 1)
    for parameter in trainer.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    trainer.optimizer_step()
    path = tmp_path / "state.safetensors"
    for update in (1, 2):
        save_state(path, trainer, Counters(update=update), "fingerprint")
        load_state(path, trainer, "fingerprint")
    assert str(path) not in Path("/proc/self/maps").read_text(encoding="utf-8")
