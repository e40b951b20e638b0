"""export.py through its command line: what it writes says the same as the model."""

import re
import subprocess
import sys

import ctranslate2
import pytest
import tiny_models
import torch
from safetensors.torch import load_file
from transformers import GenerationConfig, MarianMTModel, MarianTokenizer

from nmt.configuration import Decoding
from nmt.decoding.translator import force_tokens, translate_tokens
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.models.build import build
from nmt.models.weights import parameters, save_tensors
from nmt.serving.card import usage
from nmt.serving.exports import export
from nmt.serving.folder import TranslationModel

TEXT = tiny_models.SOURCE
CARRIED = {
    "ctranslate2": [
        {},
        {"norm": "pre", "activation": "gelu"},
        {"tie": "none"},
        {"tie": "decoder", "positions": "learned", "max_positions": 64},
        {"positions": "none"},
    ],
    "huggingface": [{}, {"activation": "gelu"}],
}


def make(folder, **changes):
    """A Transformer with keys of its configuration changed, whose words differ from step to
    step.
    """
    model = tiny_models.make_model(folder, "transformer")
    configuration = read_json(model / "configuration.json")
    configuration["experiment"]["model"] |= changes
    write_json(model / "configuration.json", configuration)
    config = tiny_models.FAMILIES["transformer"].model_copy(update=changes)
    torch.manual_seed(2)
    built = build(config, 50, 50)
    for name, parameter in built.named_parameters():
        if name.endswith("norm.weight"):
            parameter.data.normal_()
    save_tensors(model / "model.safetensors", parameters(built))
    return model


def exported(model, to, output, precision="float32"):
    """As export.py does it, which takes seconds to start."""
    export(TranslationModel(model), model, to, precision, output)
    return output


def greedy(loaded: TranslationModel) -> list[list[str]]:
    found = {}
    for batch in translate_tokens(loaded.model, loaded.encode(TEXT), Decoding(beam=1, max_extra=3)):
        found.update(zip(*batch, strict=True))
    assert len({tuple(best.tokens) for (best,) in found.values()}) > 1
    return [loaded.subwords.target.pieces(found[number][0].tokens) for number in range(len(TEXT))]


@pytest.mark.parametrize("changes", CARRIED["ctranslate2"])
def test_ctranslate2_says_and_thinks_the_same(tmp_path, changes):
    model = make(tmp_path, **changes)
    folder = exported(model, "ctranslate2", tmp_path / "exported")
    translator, loaded = (
        ctranslate2.Translator(str(folder), intra_threads=1),
        TranslationModel(model),
    )
    sources, targets = loaded.encode(TEXT), loaded.encode_target(tiny_models.TARGET)
    forced = force_tokens(loaded.model, sources, targets, Decoding(penalty="none"))
    scores = dict(pair for batch in forced for pair in zip(*batch, strict=True))
    for number, said in enumerate(greedy(loaded)):
        pieces = loaded.subwords.source.pieces(sources[number])
        (found,) = translator.translate_batch(
            [pieces], beam_size=1, max_decoding_length=len(pieces) + 3
        )
        assert found.hypotheses[0] == said
        (scored,) = translator.score_batch(
            [pieces], [loaded.subwords.target.pieces(targets[number])]
        )
        assert sum(scored.log_probs) == pytest.approx(scores[number][0].score, rel=1e-4)


@pytest.mark.parametrize("changes", CARRIED["huggingface"])
def test_transformers_computes_the_same(tmp_path, changes):
    model = make(tmp_path, **changes)
    folder = exported(model, "huggingface", tmp_path / "exported")
    theirs, tokenizer = (
        MarianMTModel.from_pretrained(folder),
        MarianTokenizer.from_pretrained(folder),
    )
    loaded = TranslationModel(model)
    for line, target in zip(TEXT, tiny_models.TARGET, strict=True):
        inputs = tokenizer(line, text_target=target, return_tensors="pt")
        (source,) = loaded.encode([line])
        assert inputs.input_ids[0].tolist() == [*source, 3]
        given = torch.tensor([[2, *loaded.encode_target([target])[0]]])
        assert inputs.labels[0].tolist() == [*given[0, 1:].tolist(), 3]
        with torch.no_grad():
            logits = theirs(inputs.input_ids, decoder_input_ids=given).logits
            expected = loaded.model.output(loaded.model(inputs.input_ids, given).target)
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_safetensors_carries_everything(tmp_path, family):
    model = tiny_models.make_model(tmp_path, family)
    folder = exported(model, "safetensors", tmp_path / "half", "float16")
    own, half = load_file(model / "model.safetensors"), load_file(folder / "model.safetensors")
    assert own.keys() == half.keys()
    assert all(torch.equal(half[name], own[name].half()) for name in own)


@pytest.mark.parametrize(
    ("to", "precision"),
    [
        ("ctranslate2", "float16"),
        ("ctranslate2", "int8"),
        ("huggingface", "float32"),
        ("safetensors", "bfloat16"),
    ],
)
def test_its_readme_says_how_to_use_it(tmp_path, run_script, to, precision):
    folder = tmp_path / "an export"
    done = run_script(
        "export",
        f"--model={make(tmp_path)}",
        f"--to={to}",
        f"--output={folder}",
        f"--precision={precision}",
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    text = (folder / "README.md").read_text()
    assert "License of the data: free." in text
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("penalty", "alpha", "theirs"), [("power", 0.8, 0.8), ("none", 0.6, 0.0), ("wu", 0.6, 1.0)]
)
def test_their_search_divides_by_the_length_as_ours_where_it_can(tmp_path, penalty, alpha, theirs):
    model = make(tmp_path)
    configuration = read_json(model / "configuration.json")
    configuration["experiment"]["decoding"] |= {"penalty": penalty, "alpha": alpha}
    write_json(model / "configuration.json", configuration)
    assert (
        GenerationConfig.from_pretrained(
            exported(model, "huggingface", tmp_path / "h")
        ).length_penalty
        == theirs
    )
    assert f'"length_penalty": {theirs:g},' in usage(configuration, "ctranslate2", "float32")


def test_quantizing_leaves_the_model_as_it_was(tmp_path):
    model = make(tmp_path)
    loaded = TranslationModel(model)
    before = {name: tensor.clone() for name, tensor in parameters(loaded.model).items()}
    export(loaded, model, "ctranslate2", "int8", tmp_path / "exported")
    assert all(
        torch.equal(before[name], tensor) for name, tensor in parameters(loaded.model).items()
    )


def test_eight_bits_take_less_room(tmp_path):
    model = make(tmp_path)
    whole, small = (
        exported(model, "ctranslate2", tmp_path / precision, precision)
        for precision in ("float32", "int8")
    )
    assert (small / "model.bin").stat().st_size < (whole / "model.bin").stat().st_size


@pytest.mark.parametrize(
    ("changes", "to", "precision", "message"),
    [
        (
            {"positions": "rotary"},
            "ctranslate2",
            "float32",
            "ctranslate2 cannot carry rotary positions",
        ),
        (
            {"positions": "alibi"},
            "ctranslate2",
            "float32",
            "ctranslate2 cannot carry alibi positions",
        ),
        (
            {"d_k": 3, "d_v": 3},
            "ctranslate2",
            "float32",
            "heads whose width is not d model by heads",
        ),
        (
            {"norm": "pre"},
            "huggingface",
            "float32",
            "huggingface cannot carry a norm before each sublayer",
        ),
        (
            {"tie": "none"},
            "huggingface",
            "float32",
            "huggingface cannot carry embeddings that are not tied",
        ),
        ({}, "huggingface", "int8", "huggingface cannot carry int8 weights"),
        ({}, "safetensors", "int8", "safetensors cannot carry int8 weights"),
    ],
)
def test_what_a_format_cannot_carry(tmp_path, changes, to, precision, message):
    with pytest.raises(UserError, match=message):
        exported(make(tmp_path, **changes), to, tmp_path / "exported", precision)
    assert not (tmp_path / "exported").exists()


@pytest.mark.parametrize("to", ["ctranslate2", "huggingface"])
def test_word_pieces_are_refused_by_name(tmp_path, to):
    model = make(tmp_path)
    configuration = read_json(model / "configuration.json")
    configuration["vocabulary"]["kind"] = "wordpiece"
    write_json(model / "configuration.json", configuration)
    with pytest.raises(UserError, match="cannot carry word pieces"):
        exported(model, to, tmp_path / "exported")


def test_other_families_are_refused_by_name(tmp_path):
    model = tiny_models.make_model(tmp_path, "rnnsearch")
    with pytest.raises(
        UserError, match="ctranslate2 cannot carry a rnnsearch: export it to safetensors"
    ):
        exported(model, "ctranslate2", tmp_path / "exported")


def test_nothing_is_overwritten(tmp_path, run_failing):
    model = tiny_models.make_model(tmp_path, "transformer")
    assert "is there already" in run_failing(
        "export", f"--model={model}", "--to=safetensors", f"--output={tmp_path}"
    )
