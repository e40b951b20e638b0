"""perplexity.py through its command line."""

import json
import math

import pytest
import torch

from nmt.data.batch import pad_sources
from nmt.data.sequences import Sequences
from nmt.files import read_json, write_json
from nmt.models.protocol import BOS, EOS
from nmt.serving.folder import TranslationModel
from tests.support import tiny_models


def arguments(folder):
    return [
        "perplexity",
        "--threads=1",
        f"--model={folder / 'transformer'}",
        f"--tokens={folder / 'tokens'}",
        f"--output={folder / 'out' / 'perplexity.json'}",
    ]


@pytest.fixture
def folder(tmp_path):
    tiny_models.make_model(tmp_path, "transformer")
    return tmp_path


def test_it_is_that_of_the_sentences_one_by_one(folder, run_script):
    process = run_script(*arguments(folder))
    assert process.returncode == 0, process.stderr
    result = json.loads((folder / "out" / "perplexity.json").read_text())

    model = TranslationModel(folder / "transformer")
    sources = model.encode(tiny_models.SOURCE)
    targets = model.encode_target(tiny_models.TARGET)
    total = 0.0
    tokens = 0
    for source, target in zip(sources, targets, strict=True):
        source_batch = pad_sources([source])
        target_row = Sequences.of(torch.tensor([[BOS, *target]]))
        target_out = torch.tensor([*target, EOS])
        with torch.no_grad():
            hidden = model.model(source_batch, target_row).target
            log_probs = model.model.output(hidden).log_softmax(-1)[0]
        total -= log_probs.gather(1, target_out[:, None]).sum().item()
        tokens += len(target_out)
    assert list(result) == ["perplexity", "nll", "tokens"]
    assert result["tokens"] == tokens
    # In full precision, whatever the training's: bfloat16 would be off in the third digit.
    assert result["nll"] == pytest.approx(total / tokens, rel=1e-5)
    assert result["perplexity"] == pytest.approx(math.exp(total / tokens), rel=1e-5)


def test_tokens_of_another_vocabulary_are_refused(folder, run_failing):
    meta = folder / "tokens" / "meta.json"
    write_json(meta, read_json(meta) | {"vocabularies": ["", ""]})
    assert str(folder / "tokens") in run_failing(*arguments(folder))
    assert not (folder / "out").exists()
