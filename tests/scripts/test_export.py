"""Exports: what other libraries load computes the same as the model."""

import re

import ctranslate2
import pytest
import torch
from sentencepiece import SentencePieceProcessor
from transformers import MarianMTModel, MarianTokenizer

from nmt.configuration import Decoding
from nmt.data.sequences import Sequences, Source
from nmt.decoding.translator import force_tokens, in_order, translate_tokens
from nmt.errors import UserError
from nmt.files import read_json, write_json
from nmt.models.build import build
from nmt.models.protocol import BOS, EOS
from nmt.models.weights import parameters, save_tensors
from nmt.serving.ctranslate2 import to_ctranslate2
from nmt.serving.folder import TranslationModel
from nmt.serving.marian import to_huggingface
from tests.support import tiny_models
from tests.support.families import FAMILIES

TEXT = tiny_models.SOURCE
CARRIED = {
    "ctranslate2": [
        {},
        {"norm": "pre", "activation": "gelu"},
        {"tie": "none"},
        {"tie": "decoder", "positions": "learned"},
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
    export = {"ctranslate2": to_ctranslate2, "huggingface": to_huggingface}[to]
    export(TranslationModel(model), precision, output)
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
    batches = force_tokens(model.model, sources, targets, Decoding(alpha=0))
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
            source_sentence = Source.padded(inputs.input_ids, torch.tensor([len(source) + 1]))
            states = loaded.model(source_sentence, Sequences.of(target_in)).target
            expected = loaded.model.output(states)
        torch.testing.assert_close(logits, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(("to", "precision"), [("ctranslate2", "int8"), ("huggingface", "float32")])
def test_the_card_says_how_to_load_it(
    tmp_path, run_script, run_failing, monkeypatch, to, precision
):
    model = make(tmp_path)
    folder = tmp_path / "exported"
    options = [f"--model={model}", f"--to={to}", f"--output={folder}", f"--precision={precision}"]
    process = run_script("export", *options)
    assert (process.returncode, process.stdout) == (0, ""), process.stderr
    *card, _, loading = (folder / "README.md").read_text().splitlines()
    assert card == (model / "README.md").read_text().splitlines()
    monkeypatch.chdir(folder)
    names = {"TEXT": TEXT[0], "ctranslate2": ctranslate2, "MarianMTModel": MarianMTModel}
    names |= {"MarianTokenizer": MarianTokenizer, "SentencePieceProcessor": SentencePieceProcessor}
    *statements, expression = re.findall("`(.*?)`", loading)
    for statement in statements:
        exec(statement, names)
    assert isinstance(eval(expression, names), str)
    assert str(folder) in run_failing("export", *options)


def test_quantizing_leaves_the_model_as_it_was_and_takes_less_room(tmp_path):
    model = make(tmp_path)
    loaded = TranslationModel(model)
    before = {name: tensor.clone() for name, tensor in parameters(loaded.model).items()}
    to_ctranslate2(loaded, "int8", tmp_path / "int8")
    after = parameters(loaded.model)
    assert all(torch.equal(before[name], after[name]) for name in before)
    exported(model, "ctranslate2", tmp_path / "float32")
    int8, float32 = (tmp_path / name / "model.bin" for name in ("int8", "float32"))
    assert int8.stat().st_size < float32.stat().st_size


@pytest.mark.parametrize(
    ("changes", "to", "precision"),
    [
        ({"positions": "rotary"}, "ctranslate2", "float32"),
        ({"d_k": 3}, "ctranslate2", "float32"),
        ({"norm": "pre"}, "huggingface", "float32"),
        ({"tie": "none"}, "huggingface", "float32"),
        ({"attention_bias": True}, "huggingface", "float32"),
        ({"final_norm": True}, "ctranslate2", "float32"),
        ({}, "huggingface", "int8"),
    ],
)
def test_what_a_format_cannot_carry(tmp_path, changes, to, precision):
    with pytest.raises(UserError, match=r"this model is another|no int8"):
        exported(make(tmp_path, **changes), to, tmp_path / "exported", precision)
    assert not (tmp_path / "exported").exists()


def test_other_families_are_refused(tmp_path):
    model = tiny_models.make_model(tmp_path, "rnnsearch")
    for to in CARRIED:
        with pytest.raises(UserError, match="this model is another"):
            exported(model, to, tmp_path / "exported")
