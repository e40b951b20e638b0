"""Translate a test set with a model and with each of its exports, and compare.

python -m tests.system.compare_exports --model FOLDER --source FILE --reference FILE prints a table;
it ends with code 1 when an export in float32 translates fewer than 99% of the lines as the model
does, one in int8 is more than 0.3 BLEU away, or the model itself in bfloat16 more than 0.1. All
search with the model's beam and the length to the power of 1 as penalty, and stop alike.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import ctranslate2
import torch
from sacrebleu.metrics import BLEU
from transformers import MarianMTModel

from nmt.data.batch import pad_sources
from nmt.decoding.translator import (
    in_order,
    length_sorted_batches,
    translate_tokens,
)
from nmt.files import read_lines
from nmt.models.protocol import BOS, EOS, PAD
from nmt.serving.ctranslate2 import to_ctranslate2
from nmt.serving.folder import TranslationModel
from nmt.serving.marian import to_huggingface

Tokens = list[list[int]]
Translate = Callable[[Tokens], Tokens]
FORMATS = [
    ("ctranslate2", "float32"),
    ("ctranslate2", "float16"),
    ("ctranslate2", "int8"),
    ("huggingface", "float32"),
]


@dataclass(frozen=True)
class Result:
    """The translations of a test set, their BLEU, and the number of sentences per second."""

    translations: Tokens
    bleu: float
    rate: float

    def share_of_same_lines(self, expected: Tokens) -> float:
        """Return the share of lines that are translated as expected."""
        same = sum(map(list.__eq__, expected, self.translations))
        return same / len(expected)


def by_model(model: TranslationModel) -> Translate:
    """Return the search of this project."""
    changes = {"penalty": "power", "alpha": 1.0, "stop": "beam"}
    decoding = model.experiment.decoding.model_copy(update=changes)

    def translate(sources: Tokens) -> Tokens:
        batches = translate_tokens(model.model, sources, decoding)
        return [best.tokens for (best,) in in_order(batches, len(sources))]

    return translate


def by_ctranslate2(model: TranslationModel, folder: Path, precision: str) -> Translate:
    """Return the search of CTranslate2 with the export in the folder."""
    # On a CPU, weights in float16 are stored so and multiplied in float32.
    compute_type = "float32" if precision == "float16" else precision
    translator = ctranslate2.Translator(
        str(folder), compute_type=compute_type, intra_threads=torch.get_num_threads()
    )
    to_pieces = model.subwords.source.pieces
    to_ids = model.subwords.target.processor.piece_to_id

    def translate(sources: Tokens) -> Tokens:
        results = translator.translate_batch(
            [to_pieces(source) for source in sources],
            beam_size=model.experiment.decoding.beam,
            length_penalty=1,
            max_batch_size=2048,
            batch_type="tokens",
        )
        return [to_ids(result.hypotheses[0]) for result in results]

    return translate


def by_transformers(model: TranslationModel, folder: Path, _: str) -> Translate:
    """Return the search of transformers with the export in the folder."""
    marian = MarianMTModel.from_pretrained(folder).eval()

    def translate_batches(sources: Tokens) -> Iterator[tuple[list[int], Tokens]]:
        for numbers in length_sorted_batches(sources, model.experiment.decoding.beam):
            source = pad_sources([sources[number] for number in numbers])
            rows = marian.generate(
                source.tokens,
                attention_mask=~source.padding,
                length_penalty=1.0,
                early_stopping=True,
                max_new_tokens=source.tokens.size(1) + 50,
            )
            yield numbers, rows.tolist()

    def translate(sources: Tokens) -> Tokens:
        special = {PAD, BOS, EOS}
        return [
            [token for token in row if token not in special]
            for row in in_order(translate_batches(sources), len(sources))
        ]

    return translate


EXPORT = {"ctranslate2": to_ctranslate2, "huggingface": to_huggingface}
LOAD = {"ctranslate2": by_ctranslate2, "huggingface": by_transformers}


def print_row(name: str, precision: str, same: str, result: Result, size: int) -> None:
    """Print a row of the table; size is in bytes."""
    print(
        f"| {name} | {precision} | {same} | {result.bleu:.2f} | {result.rate:.0f} |"
        f" {size / 1e6:.1f} |",
        flush=True,
    )


def main() -> int:
    """Measure all, print the table, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    args = parser.parse_args()
    model = TranslationModel(args.model)
    sources = model.encode(list(read_lines(args.source)))
    references = list(read_lines(args.reference))
    metric = BLEU(lowercase=model.source_preprocessing.lowercase)

    def measure(translate: Translate) -> Result:
        translate(sources[:50])
        start_time = time.perf_counter()
        translations = translate(sources)
        rate = len(sources) / (time.perf_counter() - start_time)
        texts = [model.decode(tokens) for tokens in translations]
        return Result(translations, metric.corpus_score(texts, [references]).score, rate)

    print("| format | weights | lines as the model's | BLEU | sentences/s | MB |")
    print("|---|---|---:|---:|---:|---:|")
    whole = measure(by_model(model))
    size = (args.model / "model.safetensors").stat().st_size
    print_row("the model", "float32", "", whole, size)

    half = measure(by_model(TranslationModel(args.model, precision=torch.bfloat16)))
    same = half.share_of_same_lines(whole.translations)
    print_row("the model", "bfloat16", f"{same:.1%}", half, size)
    good = abs(half.bleu - whole.bleu) <= 0.1

    for to, precision in FORMATS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "exported"
            EXPORT[to](model, precision, folder)
            result = measure(LOAD[to](model, folder, precision))
            size = max(path.stat().st_size for path in folder.iterdir())
        same = result.share_of_same_lines(whole.translations)
        good &= abs(result.bleu - whole.bleu) <= 0.3 if precision == "int8" else same >= 0.99
        print_row(to, precision, f"{same:.1%}", result, size)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
