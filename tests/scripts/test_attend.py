"""attend.py through its command line."""

import json

import numpy as np
import pytest
import tiny_models

SENTENCE = tiny_models.SOURCE[0]
MAPS = {
    "transformer": (["layer 1", "layer 2"], 4),
    "rnnsearch": (["attention"], 1),
    "seq2seq": ([], 0),
}


def arguments(folder, family="transformer", sentence=SENTENCE):
    model, output = folder / family, folder / "out" / "attention.json"
    return ["attend", "--threads=1", "--model", model, "--output", output, "--sentence", sentence]


@pytest.mark.parametrize("family", MAPS)
def test_a_row_of_weights_for_each_subword_of_the_translation(tmp_path, run_script, family):
    tiny_models.make_model(tmp_path, family)
    done = run_script(*arguments(tmp_path, family))
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "out" / "attention.json").read_text(encoding="utf-8"))
    assert list(found) == ["source", "target", "maps"]
    assert "".join(found["source"]).replace("▁", " ") == f" {SENTENCE}</s>"
    assert found["target"][-1] == "</s>"
    assert f"{SENTENCE} -> {''.join(found['target'][:-1]).replace('▁', ' ').strip()}" in done.stderr

    names, heads = MAPS[family]
    assert list(found["maps"]) == names
    for weights in found["maps"].values():
        weights = np.array(weights)
        assert weights.shape == (heads, len(found["target"]), len(found["source"]))
        assert np.allclose(weights.sum(-1), 1, atol=1e-3)
        assert (weights >= 0).all()


def test_an_empty_sentence_is_an_error(tmp_path, run_failing):
    tiny_models.make_model(tmp_path, "rnnsearch")
    assert "the sentence is empty" in run_failing(*arguments(tmp_path, "rnnsearch", "  "))
    assert not (tmp_path / "out").exists()
