"""The settings that identify a training, and how its folder records them."""

import pytest

from nmt.configuration import Seq2Seq, Transformer
from nmt.errors import UserError
from nmt.files import read_json
from nmt.training.run_folder import record_settings

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
