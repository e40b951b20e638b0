"""benchmark_search.py and its worker, and the models of the toolkits that are installed."""

import csv
import json

import pytest
import torch

from nmt.benchmarks.peers import build
from nmt.data.batch import Batch
from nmt.models.protocol import BOS, EOS, PAD, Source
from tests.support import tiny_models
from tests.support.families import transformer

SOURCE = Source(torch.tensor([[9, 8, 7, EOS], [6, 5, EOS, PAD]]), torch.tensor([4, 3]))


def test_toolkits_are_measured_interleaved(tmp_path, run_script):
    toolkits = ["ctranslate2"]
    values = {
        "model": tiny_models.make_model(tmp_path, "transformer"),
        "sources": tmp_path / "text.en",
        "rounds": 2,
        "beam": 2,
        "sentences": 3,
        "threads": 1,
        "csv": tmp_path / "made" / "search.csv",
        "markdown": tmp_path / "made" / "search.markdown",
    }
    options = [f"--{name}={value}" for name, value in values.items()]
    process = run_script("benchmark_search", *options, "--toolkits", *toolkits)
    assert process.returncode == 0, process.stderr
    with values["csv"].open(encoding="utf-8") as file:
        measurements = list(csv.DictReader(file))
    assert [record["toolkit"] for record in measurements] == 2 * ["this", *toolkits]
    assert all(float(record["sentences_per_second"]) > 0 for record in measurements)
    table = values["markdown"].read_text(encoding="utf-8")
    assert process.stdout == table
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:4]] == ["this", *toolkits]


def test_transformers_is_measured(tmp_path, run_module):
    model = tiny_models.make_model(tmp_path, "transformer")
    values = {
        "toolkit": "transformers",
        "model": model,
        "sources": tmp_path / "text.en",
        "beam": 2,
        "sentences": 3,
        "threads": 1,
    }
    options = [f"--{name}={value}" for name, value in values.items()]
    process = run_module("nmt.benchmarks.measure_search", *options)
    assert process.returncode == 0, process.stderr
    assert json.loads(process.stdout)["sentences_per_second"] > 0


def test_other_families_are_refused(tmp_path, run_module):
    model = tiny_models.make_model(tmp_path, "rnnsearch")
    sources = tmp_path / "text.en"
    process = run_module(
        "nmt.benchmarks.measure_search",
        "--toolkit=this",
        f"--model={model}",
        f"--sources={sources}",
    )
    assert process.returncode == 1
    assert "is not a Transformer" in process.stderr


def test_transformers_searches_to_the_length_asked_for():
    peer = build("transformers", transformer(), 20, 0.1)
    peer.model.eval()
    with torch.inference_mode():
        translations = peer.search(SOURCE.tokens, 5, 3)
    assert [len(tokens) for tokens in translations] == [5, 5]


@pytest.mark.parametrize("toolkit", ["transformers", "torch"])
def test_losses_are_sums_over_the_target(toolkit):
    """The loss of two sentences is the sum of their losses, and padding adds nothing."""
    torch.manual_seed(1)
    peer = build(toolkit, transformer(), 20, 0.1)
    peer.model.eval()
    target_in = torch.tensor([[BOS, 9, 8], [BOS, 7, PAD]])
    target_out = torch.tensor([[9, 8, EOS], [7, EOS, PAD]])
    both = peer.loss(Batch(SOURCE, target_in, target_out))
    longer = Source(SOURCE.tokens[:1], SOURCE.lengths[:1])
    shorter = Source(SOURCE.tokens[1:, :3], SOURCE.lengths[1:])
    first = peer.loss(Batch(longer, target_in[:1], target_out[:1]))
    second = peer.loss(Batch(shorter, target_in[1:, :2], target_out[1:, :2]))
    torch.testing.assert_close(both, first + second)
