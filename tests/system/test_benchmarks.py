"""The benchmarks run, beside the peers that are installed, and measure what they say."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import torch

from benchmarks.heads import looks, without
from nmt.data.tokens import ParallelTokens, Ragged
from tests.support import families, tiny_models, tiny_training
from tests.support.files import ROOT
from tests.support.workflows import TINY


def table(name: str, *arguments: object) -> list[list[str]]:
    """Return the cells of the table that a benchmark prints."""
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    process = subprocess.run(
        [sys.executable, ROOT / "benchmarks" / f"{name}.py", "--rounds=1", "--threads=1"]
        + [str(argument) for argument in arguments],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        encoding="utf-8",
    )
    assert process.returncode == 0, process.stderr
    lines = [line for line in process.stdout.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_training_is_measured_beside_transformers(tmp_path):
    made = tiny_training.prepare(tmp_path / "made")
    tokens = tmp_path / "tiny" / "tiny-bpe" / "tokens"
    tokens.mkdir(parents=True)
    (made / "tokens-train").rename(tokens / "train")
    lines = table(
        *("training", "--catalog", ROOT / TINY, "--reproduction", ROOT / TINY),
        *("--corpora", tmp_path, "--rows", "tiny-transformer", "--updates", 2),
        *("--peers", "transformers"),
    )
    assert [line[:2] for line in lines] == [
        ["tiny-transformer", "this"],
        ["tiny-transformer", "transformers"],
    ]
    assert lines[0][-1] == "1"
    assert all(float(cell.replace(",", "")) > 0 for line in lines for cell in line[2:])


def test_search_is_measured_beside_ctranslate2(tmp_path):
    model = tiny_models.make_model(tmp_path, "transformer")
    lines = table("search", "--model", model, "--sources", tmp_path / "text.en")
    assert [line[1] for line in lines] == ["this", "ctranslate2"]


@pytest.mark.parametrize("family", ["transformer-alibi", "transformer-biases"])
@pytest.mark.parametrize(
    ("kind", "stack", "part"),
    [
        ("encoder", "encoder", "self_attention"),
        ("decoder", "decoder", "self_attention"),
        ("cross-attention", "decoder", "cross_attention"),
    ],
)
def test_a_silent_head_is_one_without_values(family, kind, stack, part):
    model = families.random_model(family)
    source = families.sources(families.random_sentences([5, 3]))
    target = families.target_inputs(families.random_sentences([4, 6], seed=1))
    attention = getattr(getattr(model, stack)[1], part)
    last = attention.heads
    silent = without(model, [(kind, 2, 1), (kind, 2, last)])(source, target).target
    assert (silent - model(source, target).target).abs().max() > 0.1
    width = attention.widths[2] // last
    with torch.no_grad():
        for parameter in attention.qkv.parameters():
            parameter[-last * width :][:width] = 0
            parameter[-width:] = 0
    torch.testing.assert_close(silent, model(source, target).target)


class HandMade:
    """Looks at a source of three subwords and EOS, and at a target of two behind BOS."""

    output = torch.nn.Linear(1, 1)

    def self_attention(self, source, target):
        encoder = [torch.eye(4).roll(1, 1), torch.eye(4).roll(-1, 1), torch.full((4, 4), 0.25)]
        decoder = [torch.eye(3), torch.eye(3)[[0, 0, 0]]]
        return {
            "encoder": {"layer 1": torch.stack(encoder)[None]},
            "decoder": {"layer 1": torch.stack(decoder)[None]},
        }

    def attention(self, source, target):
        unsure = torch.tensor([[0.45, 0, 0, 0.55]] * 3)
        return {"layer 1": torch.stack([unsure, unsure.flip(1)])[None]}


def test_roles_of_hand_made_weights():
    sides = [Ragged(np.arange(10, 10 + n, dtype=np.uint32), np.array([0, n])) for n in (3, 2)]
    table = looks(HandMade(), ParallelTokens(*sides, {}), pairs=9)
    assert table["role"].to_dict() == {
        ("encoder", 1, 1): "next",
        ("encoder", 1, 2): "previous",
        ("encoder", 1, 3): "broad",
        ("decoder", 1, 1): "same",
        ("decoder", 1, 2): "BOS",
        ("cross-attention", 1, 1): "EOS",
        ("cross-attention", 1, 2): "broad",
    }
    # The query that has no key ahead looks at the first one, and does not count.
    assert table.loc[("encoder", 1, 1), "next"] == 1
    assert table.loc[("encoder", 1, 3), "entropy"] == pytest.approx(np.log(4))


def test_every_head_is_silenced_and_no_other_family_has_any(tmp_path, run_script, run_failing):
    def words(family):
        model = tiny_models.make_model(tmp_path, family)
        text = ("--source", tmp_path / "text.en", "--references", tmp_path / "text.de")
        made = ("--tokens", tmp_path / "tokens", "--output", tmp_path / "heads.csv")
        return ("../benchmarks/heads", "--model", model, *text, *made)

    assert "transformer" in run_failing(*words("rnnsearch")).lower()
    assert not (tmp_path / "heads.csv").exists()
    process = run_script(*words("transformer"))
    assert process.returncode == 0, process.stderr
    table = pd.read_csv(tmp_path / "heads.csv")
    kinds = ["encoder", "decoder", "cross-attention"]
    assert list(table["kind"]) == [kind for kind in kinds for _ in range(2 * 4)] + kinds
    assert table["BLEU lost"].notna().all()
    assert "of 24 heads" in process.stdout
