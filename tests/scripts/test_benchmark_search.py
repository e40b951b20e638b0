"""benchmark_search.py through its command line, and what nmt.benchmarks.peers has of the toolkits
that are installed.
"""

import csv
import json

import pytest
import tiny_models
import torch
from families import transformer

from nmt.benchmarks.peers import build
from nmt.data.batches import Batch
from nmt.models.protocol import BOS, EOS, PAD
from nmt.serving.folder import TranslationModel

SOURCE = torch.tensor([[9, 8, 7, EOS], [6, 5, EOS, PAD]])


def test_toolkits_are_measured_interleaved(tmp_path, run_script):
    model = tiny_models.make_model(tmp_path, "transformer")
    toolkits = ["ctranslate2", "marian"]
    made = {name: tmp_path / "made" / f"search.{name}" for name in ("csv", "markdown")}
    named = {
        "model": model,
        "sources": tmp_path / "text.en",
        "rounds": 2,
        "beam": 2,
        "sentences": 3,
        "threads": 1,
    }
    start = [f"--{name}={value}" for name, value in (made | named).items()]
    done = run_script("benchmark_search", *start, "--toolkits", *toolkits)
    assert done.returncode == 0, done.stderr
    with made["csv"].open(encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["toolkit"] for line in lines] == 2 * ["this", *toolkits]
    assert all(float(line["sentences_per_second"]) > 0 for line in lines)
    table = made["markdown"].read_text(encoding="utf-8")
    assert done.stdout == table
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:5]] == ["this", *toolkits]


def test_each_translation_may_be_as_long_as_its_reference(tmp_path, run_module):
    model = tiny_models.make_model(tmp_path, "transformer")
    named = {"toolkit": "this-bfloat16", "model": model, "beam": 2, "sentences": 3, "threads": 1}
    named |= {"sources": tmp_path / "text.en", "references": tmp_path / "text.de"}
    done = run_module(
        "nmt.benchmarks.measure_search", *(f"--{name}={value}" for name, value in named.items())
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    lengths = [len(tokens) for tokens in TranslationModel(model).encode_target(tiny_models.TARGET)]
    mean = sum(lengths) / len(lengths)
    assert found["tokens_per_second"] / found["sentences_per_second"] == pytest.approx(mean)
    (tmp_path / "text.de").write_text("ein hund .\n")
    done = run_module(
        "nmt.benchmarks.measure_search", *(f"--{name}={value}" for name, value in named.items())
    )
    assert done.returncode == 1
    assert "differ in their number of lines" in done.stderr


def test_other_families_are_refused(tmp_path, run_module):
    model = tiny_models.make_model(tmp_path, "rnnsearch")
    done = run_module(
        "nmt.benchmarks.measure_search",
        "--toolkit=this",
        f"--model={model}",
        f"--sources={tmp_path / 'text.en'}",
    )
    assert done.returncode == 1
    assert "no Transformer" in done.stderr


def test_marian_searches_to_the_length_asked_for():
    peer = build("marian", transformer(), 20, 0.1)
    peer.model.eval()
    with torch.inference_mode():
        assert [len(tokens) for tokens in peer.search(SOURCE, 5, 3)] == [5, 5]


@pytest.mark.parametrize("toolkit", ["marian", "torch"])
def test_losses_are_sums_over_the_target(toolkit):
    """So twice the sentences cost twice as much, and padding costs nothing."""
    torch.manual_seed(1)
    peer = build(toolkit, transformer(), 20, 0.1)
    peer.model.eval()
    target_in = torch.tensor([[BOS, 9, 8], [BOS, 7, PAD]])
    target_out = torch.tensor([[9, 8, EOS], [7, EOS, PAD]])
    both = peer.loss(Batch(SOURCE, target_in, target_out))
    first = peer.loss(Batch(SOURCE[:1], target_in[:1], target_out[:1]))
    second = peer.loss(Batch(SOURCE[1:, :3], target_in[1:, :2], target_out[1:, :2]))
    torch.testing.assert_close(both, first + second)
