"""Exports: what other libraries load computes the same as the model."""

import ast
import re
import subprocess
import sys

import ctranslate2
import pytest
import torch
from safetensors.torch import load_file
from transformers import GenerationConfig, MarianMTModel, MarianTokenizer

from nmt.configuration import Decoding
from nmt.decoding.translator import force_tokens, in_order, translate_tokens
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.models.build import build
from nmt.models.protocol import BOS, EOS, Source
from nmt.models.weights import load_tensors, parameters, save_tensors
from nmt.serving.card import export_card
from nmt.serving.exports import export
from nmt.serving.folder import TranslationModel
from tests.support import tiny_models
from tests.support.families import FAMILIES

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
    """Write the folder of a Transformer with some keys of its configuration changed, and return it.

    Its norms are random, so that its words differ from step to step; the seed is one for which no
    library writes <s>, which our search never does.
    """
    model = tiny_models.make_model(folder, "transformer")
    configuration = read_json(model / "configuration.json")
    configuration["experiment"]["model"] |= changes
    write_json(model / "configuration.json", configuration)
    config = FAMILIES["transformer"].model_copy(update=changes)
    torch.manual_seed(5)
    built = build(config, 50, 50)
    for name, parameter in built.named_parameters():
        if name.endswith("norm.weight"):
            parameter.data.normal_()
    save_tensors(model / "model.safetensors", parameters(built))
    return model


def exported(model, to, output, precision="float32"):
    """Export as export.py does, which takes seconds to start, and return the folder."""
    export(TranslationModel(model), model, to, precision, output)
    return output


def greedy(model: TranslationModel) -> list[list[str]]:
    """Return the pieces of greedy translations of TEXT, which are not all the same."""
    batches = translate_tokens(model.model, model.encode(TEXT), Decoding(beam=1, max_extra=3))
    translations = [best.tokens for (best,) in in_order(batches, len(TEXT))]
    assert len(set(map(tuple, translations))) > 1
    return [model.subwords.target.pieces(tokens) for tokens in translations]


@pytest.mark.parametrize("changes", CARRIED["ctranslate2"])
def test_ctranslate2_translates_and_scores_the_same(tmp_path, changes):
    folder = make(tmp_path, **changes)
    model = TranslationModel(folder)
    exported_folder = exported(folder, "ctranslate2", tmp_path / "exported")
    translator = ctranslate2.Translator(str(exported_folder), intra_threads=1)
    sources = model.encode(TEXT)
    targets = model.encode_target(tiny_models.TARGET)
    batches = force_tokens(model.model, sources, targets, Decoding(penalty="none"))
    scores = [hypothesis.score for (hypothesis,) in in_order(batches, len(TEXT))]
    greedy_translations = greedy(model)
    for number in range(len(TEXT)):
        pieces = model.subwords.source.pieces(sources[number])
        (translation,) = translator.translate_batch(
            [pieces], beam_size=1, max_decoding_length=len(pieces) + 3
        )
        assert translation.hypotheses[0] == greedy_translations[number]
        target_pieces = model.subwords.target.pieces(targets[number])
        (scored,) = translator.score_batch([pieces], [target_pieces])
        assert sum(scored.log_probs) == pytest.approx(scores[number], rel=1e-4)


@pytest.mark.parametrize("changes", CARRIED["huggingface"])
def test_transformers_computes_the_same(tmp_path, changes):
    model = make(tmp_path, **changes)
    folder = exported(model, "huggingface", tmp_path / "exported")
    marian = MarianMTModel.from_pretrained(folder)
    tokenizer = MarianTokenizer.from_pretrained(folder)
    loaded = TranslationModel(model)
    for line, target_line in zip(TEXT, tiny_models.TARGET, strict=True):
        inputs = tokenizer(line, text_target=target_line, return_tensors="pt")
        (source,) = loaded.encode([line])
        (target,) = loaded.encode_target([target_line])
        assert inputs.input_ids[0].tolist() == [*source, EOS]
        assert inputs.labels[0].tolist() == [*target, EOS]
        target_in = torch.tensor([[BOS, *target]])
        with torch.no_grad():
            logits = marian(inputs.input_ids, decoder_input_ids=target_in).logits
            source_sentence = Source(inputs.input_ids, torch.tensor([len(source) + 1]))
            expected = loaded.model.output(loaded.model(source_sentence, target_in).target)
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", tiny_models.NAMES)
def test_safetensors_carries_everything(tmp_path, family):
    model = tiny_models.make_model(tmp_path, family)
    folder = exported(model, "safetensors", tmp_path / "half", "float16")
    weights = load_file(model / "model.safetensors")
    half = load_file(folder / "model.safetensors")
    assert weights.keys() == half.keys()
    assert all(torch.equal(half[name], weights[name].half()) for name in weights)


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
    process = run_script(
        "export",
        f"--model={make(tmp_path)}",
        f"--to={to}",
        f"--output={folder}",
        f"--precision={precision}",
    )
    assert (process.returncode, process.stdout) == (0, ""), process.stderr
    check = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(check, cwd=folder, check=False).returncode == 0
    text = (folder / "README.md").read_text()
    assert "License of the data: free." in text
    if to != "safetensors":
        assert f'text = "{tiny_models.SOURCE[1]}"' in text
    (code,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    process = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert process.stdout.count("\n") == 1


@pytest.mark.parametrize(
    ("penalty", "alpha", "expected"), [("power", 0.8, 0.8), ("none", 0.6, 0.0), ("wu", 0.6, 1.0)]
)
def test_length_penalties_are_as_close_to_ours_as_they_can_be(tmp_path, penalty, alpha, expected):
    model = make(tmp_path)
    configuration = read_json(model / "configuration.json")
    configuration["experiment"]["decoding"] |= {"penalty": penalty, "alpha": alpha}
    write_json(model / "configuration.json", configuration)
    folder = exported(model, "huggingface", tmp_path / "exported")
    assert GenerationConfig.from_pretrained(folder).length_penalty == expected
    card = export_card(configuration, "ctranslate2", "float32")
    assert f"length_penalty={expected:g}," in card
    formula = {"power": "|Y|^0.8", "none": "1", "wu": "((5 + |Y|) / 6)^0.6"}[penalty]
    assert f"log probabilities divided by {formula}, where |Y|" in card
    assert f"CTranslate2 divides them by |Y|^length_penalty; here it is {expected:g}" in card
    assert "length_penalty" not in export_card(configuration, "safetensors", "float32")


def make_ending(folder):
    """Write the folder of a Transformer whose translations end, and return it."""
    model = make(folder)
    weights, _ = load_tensors(model / "model.safetensors")
    weights["target_embedding.weight"][EOS] *= -4
    save_tensors(model / "model.safetensors", weights)
    return model


def test_ctranslate2_divides_by_the_length_with_its_end(tmp_path):
    """Check what the cards say of the length penalty."""
    model = make_ending(tmp_path)
    translator = ctranslate2.Translator(str(exported(model, "ctranslate2", tmp_path / "exported")))
    loaded = TranslationModel(model)
    pieces = loaded.subwords.source.pieces(loaded.encode(TEXT[:1])[0])
    scores = []
    for power in (0, 1):
        options = {"length_penalty": power, "return_scores": True}
        (result,) = translator.translate_batch([pieces], **options)
        scores += result.scores
    length = len(result.hypotheses[0]) + 1
    assert length < 10  # an end was found
    assert scores[0] / scores[1] == pytest.approx(length)


def test_transformers_divides_by_the_length_with_its_end(tmp_path):
    """Check what the cards say of the length penalty."""
    folder = exported(make_ending(tmp_path), "huggingface", tmp_path / "exported")
    marian = MarianMTModel.from_pretrained(folder)
    inputs = MarianTokenizer.from_pretrained(folder)(TEXT[0], return_tensors="pt")
    scores = []
    for power in (0.0, 1.0):
        options = {"return_dict_in_generate": True, "output_scores": True}
        result = marian.generate(**inputs, **options, length_penalty=power)
        scores.append(result.sequences_scores.item())
    start, *tokens = result.sequences[0].tolist()
    assert start == BOS
    assert tokens[-1] == EOS
    assert scores[0] / scores[1] == pytest.approx(len(tokens))


def test_an_example_with_quotes_is_code(tmp_path):
    configuration = read_json(make(tmp_path) / "configuration.json")
    example = 'He said "no\\" and {left}\u2028.'
    configuration["provenance"]["training"]["example"] = example
    card = export_card(configuration, "huggingface", "float32")
    (code,) = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
    strings = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert example in strings
    del configuration["provenance"]["training"]["example"]  # as earlier versions wrote it
    assert 'text = "..."' in export_card(configuration, "huggingface", "float32")


def test_quantizing_leaves_the_model_as_it_was(tmp_path):
    model = make(tmp_path)
    loaded = TranslationModel(model)
    before = {name: tensor.clone() for name, tensor in parameters(loaded.model).items()}
    export(loaded, model, "ctranslate2", "int8", tmp_path / "exported")
    after = parameters(loaded.model)
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_eight_bits_take_less_room(tmp_path):
    model = make(tmp_path)

    def size(precision):
        folder = exported(model, "ctranslate2", tmp_path / precision, precision)
        return (folder / "model.bin").stat().st_size

    assert size("int8") < size("float32")


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
            "heads whose width is not d_model / heads",
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
        UserError, match="ctranslate2 cannot carry the family rnnsearch: export it to safetensors"
    ):
        exported(model, "ctranslate2", tmp_path / "exported")


def test_nothing_is_overwritten(tmp_path, run_failing):
    model = tiny_models.make_model(tmp_path, "transformer")
    assert "is there already" in run_failing(
        "export", f"--model={model}", "--to=safetensors", f"--output={tmp_path}"
    )
