"""perplexity.py through its command line."""

import json
import math

import pytest
import tiny_models
import torch

from nmt.files import read_json, write_json
from nmt.models.protocol import BOS, EOS
from nmt.serving.folder import TranslationModel


def arguments(folder, **changes):
    named = {
        "model": folder / "transformer",
        "tokens": folder / "tokens",
        "output": folder / "out" / "perplexity.json",
    }
    return [
        "perplexity",
        "--threads=1",
        *(f"--{name}={value}" for name, value in (named | changes).items()),
    ]


@pytest.fixture
def folder(tmp_path):
    tiny_models.make_model(tmp_path, "transformer")
    return tmp_path


def test_it_is_that_of_the_sentences_one_by_one(folder, run_script):
    done = run_script(*arguments(folder))
    assert done.returncode == 0, done.stderr
    result = json.loads((folder / "out" / "perplexity.json").read_text())

    model = TranslationModel(folder / "transformer")
    total, tokens = 0.0, 0
    for source, target in zip(
        model.encode(tiny_models.SOURCE), model.encode(tiny_models.TARGET), strict=True
    ):
        inputs = torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *target]])
        with torch.no_grad():
            log_probabilities = model.model.output(model.model(*inputs).target).log_softmax(-1)[0]
        total -= sum(
            log_probabilities[place, token].item() for place, token in enumerate([*target, EOS])
        )
        tokens += len(target) + 1
    assert list(result) == ["perplexity", "nll", "tokens"]
    assert result["tokens"] == tokens
    # In full precision, whatever the training's: bfloat16 would be off in the third digit.
    assert result["nll"] == pytest.approx(total / tokens, rel=1e-5)
    assert result["perplexity"] == pytest.approx(math.exp(total / tokens), rel=1e-5)


def test_tokens_of_another_vocabulary_are_refused(folder, run_failing):
    meta = folder / "tokens" / "meta.json"
    write_json(meta, read_json(meta) | {"vocabulary_sizes": [51, 50]})
    error = run_failing(*arguments(folder))
    assert "was made with vocabularies of [51, 50] subwords, the model's have [50, 50]" in error
    assert not (folder / "out").exists()
