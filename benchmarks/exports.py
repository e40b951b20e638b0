"""Translate a test set with a model and with each of its exports, and print how many lines agree.

All search with the model's beam and the length to the power of 1 as penalty.
"""

import argparse
import tempfile
from pathlib import Path

import ctranslate2
import torch
from sacrebleu.metrics import BLEU
from transformers import MarianMTModel

from nmt import command
from nmt.data.batch import pad_sources
from nmt.decoding.translator import in_order, length_sorted_batches, translate_tokens
from nmt.files import read_lines
from nmt.models.protocol import BOS, EOS, PAD
from nmt.serving.ctranslate2 import to_ctranslate2
from nmt.serving.folder import TranslationModel
from nmt.serving.marian import to_huggingface

Tokens = list[list[int]]


def by_model(model: TranslationModel, sources: Tokens) -> Tokens:
    """Translate with the search of this project."""
    decoding = model.experiment.decoding.model_copy(update={"penalty": "power", "alpha": 1.0})
    batches = translate_tokens(model.model, sources, decoding)
    return [best.tokens for (best,) in in_order(batches, len(sources))]


def by_ctranslate2(model: TranslationModel, sources: Tokens, precision: str) -> Tokens:
    """Translate with an export to CTranslate2."""
    with tempfile.TemporaryDirectory() as folder:
        to_ctranslate2(model, precision, Path(folder) / "export")
        # On a CPU, weights in float16 are stored so and multiplied in float32.
        compute_type = "float32" if precision == "float16" else precision
        translator = ctranslate2.Translator(f"{folder}/export", compute_type=compute_type)
    results = translator.translate_batch(
        [model.subwords.source.pieces(source) for source in sources],
        beam_size=model.experiment.decoding.beam,
        length_penalty=1,
        max_batch_size=2048,
        batch_type="tokens",
    )
    to_ids = model.subwords.target.processor.piece_to_id
    return [to_ids(result.hypotheses[0]) for result in results]


def by_transformers(model: TranslationModel, sources: Tokens, precision: str) -> Tokens:
    """Translate with an export to transformers."""
    with tempfile.TemporaryDirectory() as folder:
        to_huggingface(model, precision, Path(folder))
        marian = MarianMTModel.from_pretrained(folder).eval()
    batches = []
    lengths = dict(enumerate(map(len, sources)))
    beam = model.experiment.decoding.beam
    for numbers in length_sorted_batches(lengths, beam, torch.device("cpu")):
        source = pad_sources([sources[number] for number in numbers])
        rows = marian.generate(
            source.tokens,
            attention_mask=~source.padding,
            length_penalty=1.0,
            early_stopping=True,
            max_new_tokens=source.tokens.size(1) + 50,
        )
        batches.append((numbers, rows.tolist()))
    special = {PAD, BOS, EOS}
    rows = in_order(batches, len(sources))
    return [[token for token in row if token not in special] for row in rows]


EXPORTS = [
    ("CTranslate2", by_ctranslate2, "float32"),
    ("CTranslate2", by_ctranslate2, "float16"),
    ("CTranslate2", by_ctranslate2, "int8"),
    ("transformers", by_transformers, "float32"),
]


def main(args: argparse.Namespace) -> None:
    """Measure all and print the table."""
    model = TranslationModel(args.model)
    sources = model.encode(list(read_lines(args.source)))
    references = list(read_lines(args.references))
    metric = BLEU(lowercase=model.source_preprocessing.lowercase)

    def bleu(translations: Tokens) -> float:
        return metric.corpus_score(list(map(model.decode, translations)), [references]).score

    expected = by_model(model, sources)
    print("| format | weights | lines as the model's | BLEU |\n|---|---|---:|---:|")
    print(f"| the model | float32 | | {bleu(expected):.2f} |")
    for name, translate, precision in EXPORTS:
        translations = translate(model, sources, precision)
        same = sum(map(list.__eq__, expected, translations)) / len(expected)
        print(f"| {name} | {precision} | {same:.1%} | {bleu(translations):.2f} |", flush=True)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FOLDER", model="made by average.py")
    command.require(parser, "FILE", source="text to translate", references="parallel to it")
    command.run(main, parser)
