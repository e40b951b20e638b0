"""Measure how fast a model translates: this project, and its exports to other libraries.

All have the same weights, sentences, beam and length penalty, and stop as each does by itself.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from harness import THIS, again, arguments, compare, device_of

from nmt import command
from nmt.data.batch import pad_sources
from nmt.decoding.translator import length_sorted_batches, translate_tokens
from nmt.files import read_lines
from nmt.models.protocol import BOS, EOS, PAD
from nmt.serving.folder import TranslationModel

Tokens = list[list[int]]
Translate = Callable[[Tokens], Tokens]  # in any order


def main(args: argparse.Namespace) -> None:
    """Measure every version."""
    name = str(args.model)
    commands = {(name, version): again(name, version) for version in (THIS, *args.versions)}

    def measured(_: str, version: str) -> dict[str, float]:
        device = device_of(args)
        library, _, precision = version.partition("-")
        model = TranslationModel(args.model)
        model.model.to(torch.bfloat16 if precision == "bfloat16" else torch.float32)
        sources = model.encode(list(read_lines(args.sources))[: args.sentences])
        with tempfile.TemporaryDirectory() as folder:
            export = (precision or "float32", Path(folder) / "model")
            translate = LOAD[library](model, *export, device)
        translate(sources[:50])  # memory is allocated and kernels are chosen
        begun = time.perf_counter()
        translations = translate(sources)
        seconds = time.perf_counter() - begun
        length = sum(map(len, translations)) / len(translations)
        return {"sentences/s": len(sources) / seconds, "tokens a translation": length}

    compare(args, commands, measured)


def by_this(model: TranslationModel, _: str, __: Path, ___: torch.device) -> Translate:
    """Return this project's beam search, as other libraries can do it."""
    changes = {"penalty": "power", "alpha": 1.0}
    decoding = model.experiment.decoding.model_copy(update=changes)

    def translate(sources: Tokens) -> Tokens:
        batches = translate_tokens(model.model, sources, decoding)
        return [best.tokens for _, hypotheses in batches for (best,) in hypotheses]

    return translate


def by_ctranslate2(
    model: TranslationModel, precision: str, folder: Path, device: torch.device
) -> Translate:
    """Return CTranslate2's beam search; weights are multiplied as they are stored."""
    from ctranslate2 import Translator

    from nmt.serving.ctranslate2 import to_ctranslate2

    to_ctranslate2(model, precision, folder)
    threads = torch.get_num_threads()
    translator = Translator(str(folder), device=device.type, intra_threads=threads)
    to_pieces, decoding = model.subwords.source.pieces, model.experiment.decoding

    def translate(sources: Tokens) -> Tokens:
        results = translator.translate_batch(
            [to_pieces(source) for source in sources],
            beam_size=decoding.beam,
            length_penalty=1,
            max_decoding_length=max(map(len, sources)) + decoding.max_extra,
            max_batch_size=2048,
            batch_type="tokens",
        )
        return [result.hypotheses[0] for result in results]

    return translate


def by_transformers(
    model: TranslationModel, precision: str, folder: Path, device: torch.device
) -> Translate:
    """Return transformers' beam search, in batches like this project's."""
    from transformers import MarianMTModel

    from nmt.serving.marian import to_huggingface

    to_huggingface(model, precision, folder)
    marian = MarianMTModel.from_pretrained(folder).eval().to(device)
    decoding = model.experiment.decoding

    def translate(sources: Tokens) -> Tokens:
        rows = []
        lengths = dict(enumerate(map(len, sources)))
        for numbers in length_sorted_batches(lengths, decoding.beam, device):
            source = pad_sources([sources[number] for number in numbers]).to(device)
            rows += marian.generate(
                source.tokens,
                attention_mask=source.tokens != PAD,
                length_penalty=1.0,
                early_stopping=True,
                max_new_tokens=source.tokens.size(1) + decoding.max_extra,
            ).tolist()
        return [[token for token in row if token not in (PAD, BOS, EOS)] for row in rows]

    return translate


LOAD = {THIS: by_this, "ctranslate2": by_ctranslate2, "transformers": by_transformers}
VERSIONS = ("this-bfloat16", "ctranslate2", "ctranslate2-int8", "transformers")


if __name__ == "__main__":
    parser = arguments(__doc__)
    command.require(parser, "FOLDER", model="made by average.py")
    parser.add_argument(
        "--sources", type=Path, required=True, metavar="FILE", help="plain text, a sentence a line"
    )
    parser.add_argument("--sentences", type=command.whole_number(1), help="the first so many")
    parser.add_argument("--versions", nargs="+", default=["ctranslate2"], choices=VERSIONS)
    command.run(main, parser)
