"""Measure how fast a toolkit translates with a beam, and print sentences and tokens a second.

benchmark_search.py compares several toolkits. All have a Transformer of the sizes of MODEL: this
project and CTranslate2 with its weights, the others with random ones. The same sources come in the
same batches of similar lengths, and all translations of a batch are as long as its longest source:
so all toolkits do the same work, whatever the weights are.
"""

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn

from nmt import command
from nmt.benchmarks.peers import SEARCH_TOOLKITS, build, comparable_model
from nmt.configuration import Transformer
from nmt.data.batch import pad_sources
from nmt.data.source import Source
from nmt.decoding.search import search
from nmt.errors import UserError
from nmt.files import read_lines
from nmt.models.protocol import EOS, PAD
from nmt.serving.folder import TranslationModel

# Sources (B, S), the lengths of their translations, and a beam -> B translations
Search = Callable[[Source, list[int], int], list[list[int]]]
# Sources of a batch, and the lengths of their translations, EOS not counted
SearchBatch = tuple[list[list[int]], list[int]]


def main(args: argparse.Namespace) -> None:
    """Translate all batches with one toolkit and print its speed as JSON."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(1)
    precision = torch.bfloat16 if args.toolkit == "this-bfloat16" else torch.float32
    model = TranslationModel(args.model, precision=precision)
    config = comparable_model(model.experiment.model, str(args.model))
    translate = load_search(args.toolkit, model, config, args.threads)
    batches = make_batches(model, args)
    # A warm-up: memory is allocated and kernels are chosen
    search_seconds(translate, batches[len(batches) // 2], args.beam)
    seconds = sum(search_seconds(translate, batch, args.beam) for batch in batches)
    sentences = sum(len(lengths) for _, lengths in batches)
    tokens = sum(sum(lengths) for _, lengths in batches)
    speed = {
        "sentences_per_second": sentences / seconds,
        "tokens_per_second": tokens / seconds,
    }
    print(json.dumps(speed))


def make_batches(model: TranslationModel, args: argparse.Namespace) -> list[SearchBatch]:
    """Return batches of sources of similar lengths, with the lengths of their translations.

    Translations of a batch are as long as its longest source: other toolkits make all equally long.
    Empty lines are left out. Raises UserError when no sentence is left.
    """
    sources = sorted(filter(None, model.encode(list(read_lines(args.sources)))), key=len)
    if not sources:
        raise UserError(f"{args.sources} holds no sentence to translate.")
    batches = []
    for start in range(0, len(sources), args.sentences):
        batch = sources[start : start + args.sentences]
        batches.append((batch, [len(batch[-1])] * len(batch)))
    return batches


def search_seconds(translate: Search, batch: SearchBatch, beam: int) -> float:
    """Return the seconds that the translation of a batch takes.

    Raises UserError for translations of any other length: their time would be meaningless.
    """
    sources, lengths = batch
    source = pad_sources(sources)
    start = time.perf_counter()
    with torch.inference_mode():
        translations = translate(source, lengths, beam)
    seconds = time.perf_counter() - start
    if [len(tokens) for tokens in translations] != lengths:
        raise UserError(
            f"some of {len(sources)} translations do not have the length that was asked for, up to"
            f" {max(lengths)}."
        )
    return seconds


def load_search(toolkit: str, model: TranslationModel, config: Transformer, threads: int) -> Search:
    """Return the beam search of a toolkit.

    Raises UserError for other toolkits on a GPU, and for those with random weights when the model
    has two vocabularies.
    """
    if toolkit.startswith("this"):
        return this_project(model)
    if torch.cuda.is_available():
        raise UserError(
            "other toolkits are measured on the CPU only: set CUDA_VISIBLE_DEVICES= to compare"
            " there."
        )
    match toolkit:
        case "ctranslate2":
            return ctranslate2(model, "float32", threads)
        case "ctranslate2-int8":
            return ctranslate2(model, "int8", threads)
    vocabulary_size = model.subwords.target.size
    if model.subwords.source.size != vocabulary_size:
        raise UserError(
            "other toolkits are built with one vocabulary for both languages: give a model that has"
            " one."
        )
    peer = build(toolkit, config, vocabulary_size, smoothing=0.1)
    peer.model.eval()
    peer_search = peer.search
    assert peer_search is not None  # SEARCH_TOOLKITS have one
    return lambda source, lengths, beam: peer_search(source.tokens, lengths[0], beam)


def this_project(model: TranslationModel) -> Search:
    """Return this project's beam search; the model gets a bias that suppresses EOS."""
    single_model = model.single
    weight = single_model.output.weight
    vocabulary_size, width = weight.shape
    output = nn.Linear(width, vocabulary_size).to(weight.device, model.precision)
    output.weight = weight
    output.bias.data.zero_()
    output.bias.data[EOS] = -1e4  # all but impossible where it is not forced
    single_model.output = output

    def translate(source: Source, lengths: list[int], beam: int) -> list[list[int]]:
        decoding = model.experiment.decoding.model_copy(update={"beam": beam})
        hypotheses = search(single_model, source.to(weight.device), lengths, decoding)
        return [best.tokens for (best,) in hypotheses]

    return translate


def ctranslate2(model: TranslationModel, precision: str, threads: int) -> Search:
    """Return CTranslate2's beam search with the model's weights in this precision."""
    from ctranslate2 import Translator

    from nmt.serving.ctranslate2 import to_ctranslate2

    with tempfile.TemporaryDirectory() as folder:
        to_ctranslate2(model, precision, Path(folder) / "model")
        translator = Translator(f"{folder}/model", compute_type=precision, intra_threads=threads)
    pieces = model.subwords.source.pieces

    def translate(source: Source, lengths: list[int], beam: int) -> list[list[int]]:
        sentences = [
            [token for token in sentence if token not in (EOS, PAD)]
            for sentence in source.tokens.tolist()
        ]
        results = translator.translate_batch(
            [pieces(sentence) for sentence in sentences],
            beam_size=beam,
            min_decoding_length=lengths[0],
            max_decoding_length=lengths[0],
        )
        return [result.hypotheses[0] for result in results]

    return translate


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_model(parser)
    parser.add_argument(
        "--sources",
        type=Path,
        required=True,
        metavar="FILE",
        help="plain text, one sentence per line",
    )
    parser.add_argument(
        "--toolkit",
        required=True,
        choices=["this", *SEARCH_TOOLKITS],
        help="all but the first four need envs/peers.txt",
    )
    parser.add_argument("--beam", type=command.whole_number(1), default=4)
    parser.add_argument("--sentences", type=command.whole_number(1), default=100, help="of a batch")
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads())
    command.run(main, parser)
