"""Measures how fast a toolkit translates with a beam; benchmark_search.py compares several.

All have a Transformer of the sizes of MODEL, which this project and CTranslate2 have with its
weights, the others with random ones. The same sources come in the same batches, of like lengths,
and all translations of a batch are as long as its longest source, or each as long as its reference:
so all do the same work, whatever the weights say.
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
from nmt.benchmarks.peers import SEARCHES, build
from nmt.configuration import Transformer
from nmt.data.batches import pad_sources
from nmt.decoding.search import search
from nmt.errors import UserError
from nmt.files import read_lines
from nmt.models.protocol import EOS, PAD
from nmt.serving.folder import TranslationModel

Search = Callable[
    [Tensor, list[int], int], list[list[int]]
]  # of sources, their translations' lengths, and a beam


def main(args: argparse.Namespace) -> None:
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    precision = torch.bfloat16 if args.toolkit == "this-bfloat16" else torch.float32
    model = TranslationModel(args.model, precision=precision)
    if not isinstance(model.experiment.model, Transformer):
        raise UserError(f"{args.model} is no Transformer: others are not compared.")
    if args.references and not args.toolkit.startswith("this"):
        raise UserError(
            "other toolkits make all translations of a batch equally long: leave --references out."
        )
    translate = translator(args.toolkit, model, args.threads)
    batches = in_batches(model, args)
    timed(
        translate, *batches[len(batches) // 2], args.beam
    )  # memory is found and kernels are chosen
    seconds = sum(timed(translate, *batch, args.beam) for batch in batches)
    done = {
        "sentences": sum(len(lengths) for _, lengths in batches),
        "tokens": sum(sum(each) for _, each in batches),
    }
    print(json.dumps({f"{what}_per_second": number / seconds for what, number in done.items()}))


def in_batches(
    model: TranslationModel, args: argparse.Namespace
) -> list[tuple[list[list[int]], list[int]]]:
    """Sources of like lengths and how long each translation is to be. Empty lines are left out."""
    sources = model.encode(list(read_lines(args.sources)))
    wanted = model.encode_target(list(read_lines(args.references))) if args.references else sources
    if len(wanted) != len(sources):
        raise UserError(
            f"{args.sources} and {args.references} differ in their number of lines: make them"
            " parallel."
        )
    pairs = [
        (source, like) for source, like in zip(sources, wanted, strict=True) if source and like
    ]
    pairs.sort(key=lambda pair: len(pair[0]))
    if not pairs:
        raise UserError(f"{args.sources} holds no sentence to translate.")
    batches = []
    for start in range(0, len(pairs), args.sentences):
        group, wanted = zip(*pairs[start : start + args.sentences], strict=True)
        lengths = [len(like) for like in wanted]
        batches.append((list(group), lengths if args.references else [max(lengths)] * len(group)))
    return batches


def timed(translate: Search, group: list[list[int]], lengths: list[int], beam: int) -> float:
    """Seconds. Raises UserError for translations of another length: their time would say
    nothing.
    """
    source = pad_sources(group)
    begun = time.perf_counter()
    with torch.inference_mode():
        found = translate(source, lengths, beam)
    seconds = time.perf_counter() - begun
    if [len(tokens) for tokens in found] != lengths:
        raise UserError(
            f"not all of {len(group)} translations are as long as they were to be, up to"
            f" {max(lengths)}."
        )
    return seconds


def translator(toolkit: str, model: TranslationModel, threads: int) -> Search:
    if toolkit.startswith("this"):
        return this_project(model)
    if torch.cuda.is_available():
        raise UserError(
            "other toolkits are measured on the CPU alone: set CUDA_VISIBLE_DEVICES= to compare"
            " there."
        )
    match toolkit:
        case "ctranslate2":
            return ctranslate2(model, "float32", threads)
        case "ctranslate2-int8":
            return ctranslate2(model, "int8", threads)
    if model.subwords.source.size != model.subwords.target.size:
        raise UserError(
            "other toolkits are built with one vocabulary for both languages: give a model that has"
            " one."
        )
    peer = build(toolkit, model.experiment.model, model.subwords.target.size, smoothing=0.1)
    peer.model.eval()
    return lambda source, lengths, beam: peer.search(source, lengths[0], beam)


def this_project(model: TranslationModel) -> Search:
    device = model.model.output.weight.device
    output = nn.Linear(*reversed(model.model.output.weight.shape)).to(device, model.precision)
    output.weight = model.model.output.weight
    output.bias.data.zero_()[EOS] = -1e4  # all but impossible where it is not forced
    model.model.output = output

    def translate(source: Tensor, lengths: list[int], beam: int) -> list[list[int]]:
        decoding = model.experiment.decoding.model_copy(update={"beam": beam})
        return [
            best.tokens for (best,) in search(model.model, source.to(device), lengths, decoding)
        ]

    return translate


def ctranslate2(model: TranslationModel, precision: str, threads: int) -> Search:
    from ctranslate2 import Translator

    from nmt.serving.exports import to_ctranslate2

    with tempfile.TemporaryDirectory() as folder:
        to_ctranslate2(model, precision, Path(folder) / "model")
        serving = Translator(f"{folder}/model", compute_type=precision, intra_threads=threads)
    pieces = model.subwords.source.pieces

    def translate(source: Tensor, lengths: list[int], beam: int) -> list[list[int]]:
        texts = [
            pieces([token for token in line if token not in (EOS, PAD)]) for line in source.tolist()
        ]
        exactly = {"min_decoding_length": lengths[0], "max_decoding_length": lengths[0]}
        return [
            found.hypotheses[0]
            for found in serving.translate_batch(texts, beam_size=beam, **exactly)
        ]

    return translate


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FOLDER", help="made by average.py"
    )
    parser.add_argument(
        "--sources", type=Path, required=True, metavar="FILE", help="plain text, a sentence a line"
    )
    parser.add_argument(
        "--references", type=Path, metavar="FILE", help="as long as which translations are to be"
    )
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
