"""A training's state and its folder."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch

from nmt.data.batch import Batch, UpdateBatch
from nmt.errors import UserError
from nmt.models.build import build
from nmt.training.distributed import ProcessGroup
from nmt.training.run_folder import checkpoints_to_average
from nmt.training.state import Counters, load_state, save_state
from nmt.training.trainer import Trainer
from tests.support import tiny_training
from tests.support.families import (
    FAMILIES,
    VOCABULARY,
    random_sentences,
    sources,
    target_inputs,
    target_outputs,
)
from tests.support.files import Harm


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
    torch.save({"sums": Harm(tmp_path / "harm")}, path)
    with pytest.raises(UserError, match="is damaged"):
        load_state(path, trainer, "fingerprint")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize("precision", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_resumed_training_equals_a_whole_one_bit_for_bit(tmp_path, family, precision):
    group = ProcessGroup(torch.device("cpu"))
    settings = tiny_training.settings(precision=precision, gradient_clip=1.0)

    def make_trainer() -> Trainer:
        model = build(FAMILIES[family], VOCABULARY, VOCABULARY)
        return Trainer(model, settings, group, seed=1)

    whole, resumed = make_trainer(), make_trainer()
    for update in (1, 2, 3, 4):
        source, target = random_sentences([5, 2, 7], update), random_sentences([4, 6, 3], -update)
        batch = Batch(sources(source), target_inputs(target), target_outputs(target))
        update_batch = UpdateBatch(1, update, np.arange(3), 17, 16, {0: batch})
        whole.train_step(update_batch, 1e-3, update)
        if update == 2:
            save_state(tmp_path / "state", whole, Counters(), "")
            load_state(tmp_path / "state", resumed, "")
        elif update > 2:
            resumed.train_step(update_batch, 1e-3, update)
    for one, other in zip(whole.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert whole.scaler.state_dict() == resumed.scaler.state_dict()


def test_a_folder_is_held_by_one_process(tmp_path):
    folder = tiny_training.make_loop(tiny_training.prepare(tmp_path)).folder
    with folder.opened(), pytest.raises(UserError, match=str(folder.state_folder)):
        folder.opened().__enter__()
    with folder.opened():
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
