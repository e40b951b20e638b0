"""attend.py through its command line."""

import json

import numpy as np
import pytest

from tests.support import tiny_models

SENTENCE = tiny_models.SOURCE[0]
# The names of the maps and the number of heads of each
MAPS = {
    "transformer": (["layer 1", "layer 2"], 4),
    "rnnsearch": (["attention"], 1),
    "seq2seq": ([], 0),
}


def arguments(folder, family="transformer", sentence=SENTENCE):
    return [
        "attend",
        "--threads=1",
        f"--model={folder / family}",
        f"--output={folder / 'out' / 'attention.json'}",
        f"--sentence={sentence}",
    ]


@pytest.mark.parametrize("family", MAPS)
def test_a_row_of_weights_for_each_subword_of_the_translation(tmp_path, run_script, family):
    tiny_models.make_model(tmp_path, family)
    process = run_script(*arguments(tmp_path, family))
    assert process.returncode == 0, process.stderr
    attention = json.loads((tmp_path / "out" / "attention.json").read_text(encoding="utf-8"))
    assert list(attention) == ["source", "target", "maps", "encoder", "decoder"]
    source = attention["source"]
    target = attention["target"]
    assert "".join(source).replace("▁", " ") == f" {SENTENCE}</s>"
    assert target[-1] == "</s>"
    translation = "".join(target[:-1]).replace("▁", " ").strip()
    assert f"{SENTENCE} -> {translation}" in process.stderr

    names, heads = MAPS[family]
    assert list(attention["maps"]) == names
    for heads_weights in attention["maps"].values():
        weights = np.array(heads_weights)
        assert weights.shape == (heads, len(target), len(source))
        assert np.allclose(weights.sum(-1), 1, atol=1e-3)
        assert (weights >= 0).all()


def test_the_maps_of_a_long_sentence_are_bounded(tmp_path, run_script):
    tiny_models.make_model(tmp_path, "rnnsearch")
    process = run_script(*arguments(tmp_path, "rnnsearch", "dog " * 2000))
    assert process.returncode == 0
    assert "source line 1: too long, only the first 250 subwords are used" in process.stderr
    attention = json.loads((tmp_path / "out" / "attention.json").read_text(encoding="utf-8"))
    assert len(attention["source"]) == 251


def test_an_empty_sentence_is_an_error(tmp_path, run_failing):
    tiny_models.make_model(tmp_path, "rnnsearch")
    assert "the sentence is empty" in run_failing(*arguments(tmp_path, "rnnsearch", "  "))
    assert not (tmp_path / "out").exists()


def test_self_attention_of_a_transformer_is_recorded_too(tmp_path, run_script):
    tiny_models.make_model(tmp_path, "transformer")
    process = run_script(*arguments(tmp_path, "transformer"))
    assert process.returncode == 0, process.stderr
    attention = json.loads((tmp_path / "out" / "attention.json").read_text(encoding="utf-8"))
    for part, side in (("encoder", "source"), ("decoder", "target")):
        assert list(attention[part]) == MAPS["transformer"][0]
        length = len(attention[side])
        for heads_weights in attention[part].values():
            weights = np.array(heads_weights)
            assert weights.shape == (4, length, length)
            assert np.allclose(weights.sum(-1), 1, atol=1e-3)
    # The decoder sees no position that follows.
    assert not np.triu(np.array(attention["decoder"]["layer 2"]), 1).any()
