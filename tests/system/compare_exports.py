"""Translates a test set with a model and with each of its exports, and compares.

python tests/system/compare_exports.py --model FOLDER --source FILE --reference FILE prints a table;
it ends with code 1 when an export in float32 translates fewer than 99% of the lines as the model
does, one in int8 is more than 0.3 BLEU away, or the model itself in bfloat16 more than 0.1. All
search with the model's beam and the length to the power of 1 as penalty, and stop alike.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2] / "src")]

import ctranslate2  # noqa: E402
import torch  # noqa: E402
from sacrebleu.metrics import BLEU  # noqa: E402
from transformers import MarianMTModel  # noqa: E402

from nmt.data.batches import pad_sources  # noqa: E402
from nmt.decoding.translator import batches, translate_tokens  # noqa: E402
from nmt.files import read_lines  # noqa: E402
from nmt.models.protocol import PAD  # noqa: E402
from nmt.serving.exports import export  # noqa: E402
from nmt.serving.folder import TranslationModel  # noqa: E402

Tokens = list[list[int]]
FORMATS = [
    ("ctranslate2", "float32"),
    ("ctranslate2", "float16"),
    ("ctranslate2", "int8"),
    ("huggingface", "float32"),
]


def by_us(model: TranslationModel, sources: Tokens) -> Tokens:
    changes = {"penalty": "power", "alpha": 1.0, "stop": "beam"}
    found = {}
    for batch in translate_tokens(
        model.model, sources, model.experiment.decoding.model_copy(update=changes)
    ):
        found.update(zip(*batch, strict=True))
    return [found[number][0].tokens for number in range(len(sources))]


def by_ctranslate2(
    model: TranslationModel, folder: Path, precision: str
) -> Callable[[Tokens], Tokens]:
    # On a CPU, weights in float16 are stored so and multiplied in float32.
    computed = "float32" if precision == "float16" else precision
    loaded = ctranslate2.Translator(
        str(folder), compute_type=computed, intra_threads=torch.get_num_threads()
    )
    read, written = model.subwords.source.pieces, model.subwords.target.processor.piece_to_id

    def translate(sources: Tokens) -> Tokens:
        found = loaded.translate_batch(
            [read(source) for source in sources],
            beam_size=model.experiment.decoding.beam,
            length_penalty=1,
            max_batch_size=2048,
            batch_type="tokens",
        )
        return [written(each.hypotheses[0]) for each in found]

    return translate


def by_transformers(model: TranslationModel, folder: Path, _: str) -> Callable[[Tokens], Tokens]:
    loaded = MarianMTModel.from_pretrained(folder).eval()

    def translate(sources: Tokens) -> Tokens:
        found = {}
        for numbers in batches(sources, model.experiment.decoding.beam):
            source = pad_sources([sources[number] for number in numbers])
            options = {
                "length_penalty": 1.0,
                "early_stopping": True,
                "max_new_tokens": source.size(1) + 50,
            }
            rows = loaded.generate(source, attention_mask=source != PAD, **options)
            found.update(zip(numbers, rows.tolist(), strict=True))
        special = {0, 2, 3}
        return [
            [token for token in found[number] if token not in special]
            for number in range(len(sources))
        ]

    return translate


def same(one: Tokens, other: Tokens) -> float:
    """The share of lines."""
    return sum(map(list.__eq__, one, other)) / len(one)


LOAD = {"ctranslate2": by_ctranslate2, "huggingface": by_transformers}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--reference", type=Path, required=True)
    args = parser.parse_args()
    model = TranslationModel(args.model)
    sources, references = (
        model.encode(list(read_lines(args.source))),
        list(read_lines(args.reference)),
    )
    bleu = BLEU(lowercase=model.before.lowercase)

    def measure(translate: Callable[[Tokens], Tokens]) -> tuple[Tokens, float, float]:
        translate(sources[:50])
        begun = time.perf_counter()
        found = translate(sources)
        rate = len(sources) / (time.perf_counter() - begun)
        return (
            found,
            bleu.corpus_score([model.decode(tokens) for tokens in found], [references]).score,
            rate,
        )

    whole, score, rate = measure(lambda tokens: by_us(model, tokens))
    size = (args.model / "model.safetensors").stat().st_size
    print(
        "| format | weights | lines as the model's | BLEU | sentences/s | MB"
        " |\n|---|---|---:|---:|---:|---:|"
    )
    print(f"| the model | float32 | | {score:.2f} | {rate:.0f} | {size / 1e6:.1f} |", flush=True)
    half = TranslationModel(args.model, precision=torch.bfloat16)
    found, theirs, rate = measure(lambda tokens: by_us(half, tokens))
    good = abs(theirs - score) <= 0.1
    print(
        f"| the model | bfloat16 | {same(whole, found):.1%} | {theirs:.2f} | {rate:.0f} |"
        f" {size / 1e6:.1f} |",
        flush=True,
    )
    for to, precision in FORMATS:
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary) / "exported"
            export(model, args.model, to, precision, folder)
            found, theirs, rate = measure(LOAD[to](model, folder, precision))
            size = max(path.stat().st_size for path in folder.iterdir())
        good &= abs(theirs - score) <= 0.3 if precision == "int8" else same(whole, found) >= 0.99
        print(
            f"| {to} | {precision} | {same(whole, found):.1%} | {theirs:.2f} | {rate:.0f} |"
            f" {size / 1e6:.1f} |",
            flush=True,
        )
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
