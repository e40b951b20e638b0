"""benchmark_text.py on little text, and its parts."""

import re

import numpy as np
import pytest

from nmt.benchmarks.synthetic_text import PAIRS_PER_MARKER, pairs
from nmt.benchmarks.text_peers import peers, same_lines
from nmt.benchmarks.text_speed import markers_together, measured
from nmt.errors import UserError


def test_every_step_is_measured_and_markers_are_together(run_script, tmp_path):
    result = run_script(
        *("benchmark_text", "--pairs=3000", "--vocabulary-size=500", "--alone"),
        *(f"--folder={tmp_path}/made", f"--markdown={tmp_path}/table.md", "--jobs=1"),
    )
    assert result.returncode == 0, result
    table = (tmp_path / "table.md").read_text()
    steps = re.findall(r"^\| ([a-z_ ]+?) +\| this", table, re.MULTILINE)
    expected = ["extract", "normalize en", "normalize de", "learn_vocabulary", "binarize", "all"]
    assert steps == expected
    for step in ("open", "check", "order of an epoch", "first batch"):
        assert re.search(rf"^\| {step} +\| +\d+\.\d\d \|", table, re.MULTILINE)
    assert re.search(r"^[1-3] of 3 marked pairs are in the tokens, all with both", table, re.M)
    assert markers_together(tmp_path / "made", 3000)[1] == 3
    path = tmp_path / "made" / "tokens" / "target_offsets.npy"
    shifted = np.load(path)
    shifted[1:-1] += 1
    np.save(path, shifted)
    with pytest.raises(UserError, match="damaged"):
        markers_together(tmp_path / "made", 3000)


def test_synthetic_text_is_the_same_every_time_with_a_marker_in_every_thousandth_pair():
    ((source, target),) = pairs(2500, ("en", "de"))
    ((again, _),) = pairs(2500, ("en", "de"))
    assert source == again
    for side in (source, target):
        marked = {number: line for number, line in enumerate(side) if re.search(r"\d", line)}
        assert list(marked) == list(range(0, 2500, PAIRS_PER_MARKER))
        assert [line.split()[-1] for line in marked.values()] == [
            "00000001",
            "00001001",
            "00002001",
        ]
        assert 18 < np.mean([len(line.split()) for line in side]) < 26
    assert any("„" in line for line in target)


def test_a_command_that_fails_is_named(tmp_path):
    assert measured("sleep 0.1", tmp_path).seconds > 0.1
    with pytest.raises(UserError, match="echo wrong >&2; false failed: wrong"):
        measured("echo wrong >&2; false", tmp_path)


@pytest.mark.parametrize("installed", ["spm_train", "subword-nmt"])
def test_peers_are_the_programs_that_are_installed(monkeypatch, installed):
    monkeypatch.setattr(
        "shutil.which", lambda program: f"/bin/{program}" if program == installed else None
    )
    of_programs = {
        "spm_train": {"spm_train"},
        "subword-nmt": {"subword-nmt learn-bpe", "subword-nmt apply-bpe"},
    }
    assert peers(100, 1, None, None).keys() == of_programs[installed]


def test_outputs_of_peers_are_compared(tmp_path):
    (tmp_path / "a").write_text("x\n")
    (tmp_path / "b").write_text("x\ny\n")
    with pytest.raises(UserError, match="a has 1 lines, b has 2"):
        same_lines(tmp_path, "a", "b")
