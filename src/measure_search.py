"""Measures how fast a toolkit translates with a beam; benchmark_search.py compares several.

All have a Transformer of the sizes of MODEL, which this project and CTranslate2 have with its weights, the others with
random ones. The same sources come in the same batches, of like lengths, and all translations of a batch are as long as
its longest source: so all do the same work, whatever the weights say.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn

from nmt import command
from nmt.configuration import Transformer
from nmt.data.batches import pad_sources
from nmt.decoding.folder import TranslationModel
from nmt.decoding.search import search
from nmt.errors import UserError
from nmt.files import read_lines
from nmt.models.protocol import EOS, PAD
from nmt.peers import SEARCHES, build

Search = Callable[[Tensor, int, int], list[list[int]]]


def main(args: argparse.Namespace) -> None:
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    precision = torch.bfloat16 if args.toolkit == "this-bfloat16" else torch.float32
    model = TranslationModel(args.model, precision=precision)
    if not isinstance(model.experiment.model, Transformer):
        raise UserError(f"{args.model} is no Transformer: others are not compared.")
    translate = translator(args.toolkit, model, args.threads)
    sources = sorted((source for source in model.encode(read_lines(args.sources)) if source), key=len)
    if not sources:
        raise UserError(f"{args.sources} holds no sentence to translate.")
    groups = [sources[start : start + args.sentences] for start in range(0, len(sources), args.sentences)]
    timed(translate, groups[len(groups) // 2], args.beam)  # memory is found and kernels are chosen
    seconds = sum(timed(translate, group, args.beam) for group in groups)
    print(json.dumps({"sentences_per_second": len(sources) / seconds}))


def timed(translate: Search, group: list[list[int]], beam: int) -> float:
    """Seconds. Raises UserError for translations of another length: their time would say nothing."""
    length, source = max(map(len, group)), pad_sources(group)
    begun = time.perf_counter()
    with torch.inference_mode():
        found = translate(source, length, beam)
    seconds = time.perf_counter() - begun
    if [len(tokens) for tokens in found] != [length] * len(group):
        raise UserError(f"not all of {len(group)} translations are {length} tokens long.")
    return seconds


def translator(toolkit: str, model: TranslationModel, threads: int) -> Search:
    match toolkit:
        case "this" | "this-bfloat16":
            return this_project(model)
        case "ctranslate2":
            return ctranslate2(model, "float32", threads)
        case "ctranslate2-int8":
            return ctranslate2(model, "int8", threads)
    if model.subwords.source.size != model.subwords.target.size:
        raise UserError("other toolkits are built with one vocabulary for both languages: give a model that has one.")
    peer = build(toolkit, model.experiment.model, model.subwords.target.size, smoothing=0.1)
    if peer.search is None:
        raise UserError(f"{toolkit} has no search.")
    peer.model.eval()
    return peer.search


def this_project(model: TranslationModel) -> Search:
    output = nn.Linear(*reversed(model.model.output.weight.shape)).to(model.precision)
    output.weight = model.model.output.weight
    output.bias.data.zero_()[EOS] = -1e4  # all but impossible where it is not forced
    model.model.output = output

    def translate(source: Tensor, length: int, beam: int) -> list[list[int]]:
        decoding = model.experiment.decoding.model_copy(update={"beam": beam})
        return [best.tokens for (best,) in search(model.model, source, [length] * len(source), decoding)]

    return translate


def ctranslate2(model: TranslationModel, precision: str, threads: int) -> Search:
    from ctranslate2 import Translator

    from nmt.decoding.exports import to_ctranslate2

    with tempfile.TemporaryDirectory() as folder:
        to_ctranslate2(model, precision, Path(folder) / "model")
        serving = Translator(f"{folder}/model", compute_type=precision, intra_threads=threads)
    pieces = model.subwords.source.pieces

    def translate(source: Tensor, length: int, beam: int) -> list[list[int]]:
        texts = [pieces([token for token in line if token not in (EOS, PAD)]) for line in source.tolist()]
        exactly = {"min_decoding_length": length, "max_decoding_length": length}
        return [found.hypotheses[0] for found in serving.translate_batch(texts, beam_size=beam, **exactly)]

    return translate


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--model", type=Path, required=True, metavar="FOLDER", help="made by average.py")
    parser.add_argument("--sources", type=Path, required=True, metavar="FILE", help="plain text, a sentence a line")
    parser.add_argument(
        "--toolkit",
        required=True,
        choices=["this", *SEARCHES],
        help="of envs/peers.txt but for the first four",
    )
    parser.add_argument("--beam", type=command.whole_number(1), default=4)
    parser.add_argument("--sentences", type=command.whole_number(1), default=100, help="of a batch")
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    command.run(main, parser)
