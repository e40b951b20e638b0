"""perplexity.py through its command line."""

import json
import math

import pytest

from nmt.configuration import Decoding
from nmt.data.batch import pad_sources
from nmt.decoding.forced import force
from nmt.files import read_json, write_json
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


def test_it_is_that_of_forced_decoding(folder, run_script):
    process = run_script(*arguments(folder))
    assert process.returncode == 0, process.stderr
    result = json.loads((folder / "out" / "perplexity.json").read_text())

    model = TranslationModel(folder / "transformer")
    sources = model.encode(tiny_models.SOURCE)
    targets = model.encode_target(tiny_models.TARGET)
    forced = force(model.single, pad_sources(sources), targets, Decoding())
    tokens = sum(len(target) + 1 for target in targets)
    nll = -sum(hypothesis.log_prob for (hypothesis,) in forced) / tokens
    assert list(result) == ["perplexity", "nll", "tokens"]
    assert result["tokens"] == tokens
    # In full precision, whatever the training's: bfloat16 would be off in the third digit.
    assert result["nll"] == pytest.approx(nll, rel=1e-5)
    assert result["perplexity"] == pytest.approx(math.exp(nll), rel=1e-5)


def test_tokens_of_another_vocabulary_are_refused(folder, run_failing):
    meta = folder / "tokens" / "meta.json"
    write_json(meta, read_json(meta) | {"vocabularies": ["", ""]})
    assert str(folder / "tokens") in run_failing(*arguments(folder))
    assert not (folder / "out").exists()
