"""Translates plain text, line by line, with a trained model or an ensemble of several.

A line of text gives a line of text: from a pipe as soon as it is there, from a file 4,000 at a
time. --n-best gives several lines for each, which begin with its number, from 0; --scores (and
--forced) puts the score (log probability / length penalty) before the text, and --alignments puts
pairs of word numbers, source-target, behind it: fields are separated by tabs. Words are those that
subwords are made of: of a vocabulary that tokenizes, its tokens.
"""

import argparse
import queue
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, repeat, zip_longest
from pathlib import Path
from threading import Thread
from typing import BinaryIO, TypeVar

import torch

from nmt import command
from nmt.configuration import MOST_ALPHA, MOST_SEED, Decoding
from nmt.decoding.sampling import Sampling
from nmt.decoding.translator import Batch, force_tokens, sample_tokens, translate_tokens
from nmt.errors import UserError
from nmt.files import decode_lines, read_lines, write_lines
from nmt.progress import Progress
from nmt.serving.folder import TranslationModel

LINES_AT_A_TIME = 4000  # sorted by length among each other
PAUSE = 0.1  # seconds for which lines from a pipe are gathered

Item = TypeVar("Item")
# From sources in tokens, what --forced has for them, and the number of the first, to batches of
# hypotheses
Method = Callable[[list[list[int]], list[str], int], Iterator[Batch]]


def main(args: argparse.Namespace) -> None:
    if args.threads:
        torch.set_num_threads(args.threads)
    model = TranslationModel(*args.model, precision=getattr(torch, args.precision))
    lines = (
        read_lines(args.input) if args.input else decode_lines(standard_input(), "standard input")
    )
    pairs = parallel(lines, read_lines(args.forced)) if args.forced else zip(lines, repeat(""))
    blocks = full_blocks(pairs) if args.input else blocks_as_they_come(pairs)
    total = sum(1 for _ in read_lines(args.input)) if args.input and args.input.is_file() else None
    with Progress("translating", total, "lines") as progress:
        write(translated(model, blocks, method(model, args), args, progress), args.output)


def write(found: Iterable[str], output: Path | None) -> None:
    if output:
        write_lines(output, found)
    else:
        sys.stdout.reconfigure(encoding="utf-8")
        for line in found:
            print(line, flush=True)


def method(model: TranslationModel, args: argparse.Namespace) -> Method:
    """Search, sampling or scoring, as the arguments say. Raises UserError for arguments that do not
    go together.
    """
    named = {"beam": args.beam, "alpha": args.alpha, "penalty": args.penalty, "stop": args.stop}
    changes = {key: value for key, value in named.items() if value is not None}
    decoding: Decoding = model.experiment.decoding.model_copy(update=changes)
    chosen = {
        "temperature": args.temperature,
        "top_k": args.top_k,
        "top_p": args.top_p,
        "seed": args.seed,
    }
    sampling = Sampling(**{key: value for key, value in chosen.items() if value is not None})
    count = args.n_best or 1
    if args.alignments and len(args.model) > 1:
        raise UserError(
            "several models have no common attention, so there are no alignments: give one."
        )
    if not args.sample and sampling != Sampling():
        raise UserError(
            "--temperature, --top-k, --top-p and --seed are for translations drawn at random: add"
            " --sample."
        )
    if sampling.top_p > 1:
        raise UserError("--top-p is a probability: give one up to 1.")
    if (args.forced or args.sample) and (args.beam or args.stop):
        raise UserError(
            "--beam and --stop are for search: leave them out with --forced and --sample."
        )
    if args.forced:
        if args.sample or args.n_best:
            raise UserError(
                "--forced scores one given translation a line: leave --sample and --n-best out."
            )
        return lambda tokens, given, _: force_tokens(
            model.model, tokens, model.encode_target(given), decoding
        )
    if args.sample:
        return lambda tokens, _, first: sample_tokens(
            model.model, tokens, decoding, sampling, count, first
        )
    if count > decoding.beam:
        raise UserError(
            f"a beam of {decoding.beam} does not find {count} translations: add --beam {count}."
        )
    return lambda tokens, *_: translate_tokens(model.model, tokens, decoding, count)


def parallel(lines: Iterable[str], given: Iterable[str]) -> Iterator[tuple[str, str]]:
    for pair in zip_longest(lines, given):
        if None in pair:
            raise UserError(
                "the source and the file of --forced differ in their number of lines: make them"
                " parallel."
            )
        yield pair


def translated(
    model: TranslationModel,
    blocks: Iterable[list[tuple[str, str]]],
    method: Method,
    args: argparse.Namespace,
    progress: Progress,
) -> Iterator[str]:
    done = 0
    for block in blocks:
        lines, given = (list(side) for side in zip(*block, strict=True))
        sources, found = model.encode(lines), {}
        for numbers, hypotheses in method(sources, given, done):
            targets = [[each.tokens for each in of_one] for of_one in hypotheses]
            links = (
                model.align([sources[number] for number in numbers], targets)
                if args.alignments
                else targets
            )
            found.update(zip(numbers, zip(hypotheses, links, strict=True), strict=True))
            progress.update(len(numbers))
        for number in range(len(sources)):
            for hypothesis, pairs in zip(*found[number], strict=True):
                fields = [str(done + number)] if args.n_best else []
                fields += [f"{hypothesis.score:.4f}"] if args.scores or args.forced else []
                fields.append(model.decode(hypothesis.tokens))
                if args.alignments:
                    fields.append(" ".join(f"{here}-{there}" for here, there in pairs))
                yield "\t".join(fields)
        done += len(block)


def full_blocks(items: Iterable[Item]) -> Iterator[list[Item]]:
    items = iter(items)
    while block := list(islice(items, LINES_AT_A_TIME)):
        yield block


def blocks_as_they_come(items: Iterable[Item]) -> Iterator[list[Item]]:
    """What comes within PAUSE of a block's first item: who writes into a pipe need not end it."""
    arrived: queue.Queue = queue.Queue(LINES_AT_A_TIME)
    end, nothing = object(), object()

    def read() -> None:
        try:
            for item in items:
                arrived.put(item)
            arrived.put(end)
        except Exception as error:  # raised again where it is waited for
            arrived.put(error)

    def receive(seconds: float) -> Item | object:
        try:
            item = arrived.get(timeout=seconds)
        except queue.Empty:
            return nothing
        if isinstance(item, Exception):
            raise item
        return item

    def awaited() -> Item | object:
        # In a wait without an end, an interrupt would go unnoticed that comes in the moment before
        # it.
        while (item := receive(1.0)) is nothing:
            pass
        return item

    Thread(target=read, daemon=True).start()
    item = awaited()
    while item is not end:
        block, deadline = [], time.monotonic() + PAUSE
        while item is not end and item is not nothing and len(block) < LINES_AT_A_TIME:
            block.append(item)
            item = receive(max(0.0, deadline - time.monotonic()))
        yield block
        if item is nothing:
            item = awaited()


def standard_input() -> BinaryIO:
    """A reader of its own for the thread: Python waits for sys.stdin's when it ends, and then gives
    up with a dump.
    """
    return open(sys.stdin.fileno(), "rb", closefd=False)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--model",
        type=Path,
        nargs="+",
        required=True,
        metavar="FOLDER",
        help=(
            "made by average.py; several, of one vocabulary, translate together, by the mean of"
            " their probabilities"
        ),
    )
    parser.add_argument(
        "--input", type=Path, metavar="FILE", help="source text; standard input without it"
    )
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="translations; standard output without it"
    )
    parser.add_argument(
        "--n-best", type=command.whole_number(1), metavar="N", help="so many of each line"
    )
    parser.add_argument("--scores", action="store_true", help="with the score of each")
    parser.add_argument(
        "--alignments", action="store_true", help="with the words that attention joins"
    )
    parser.add_argument(
        "--beam", type=command.whole_number(1), help="beam width instead of the model's own"
    )
    parser.add_argument(
        "--alpha",
        type=command.number(0, MOST_ALPHA),
        help="length penalty's exponent instead of the model's own",
    )
    parser.add_argument(
        "--penalty",
        choices=["wu", "power", "none"],
        help="((5 + |Y|) / 6)^alpha, |Y|^alpha or 1, instead of its own",
    )
    parser.add_argument(
        "--stop",
        choices=["exact", "beam"],
        help="when nothing better can come, or as soon as BEAM are finished",
    )
    parser.add_argument(
        "--sample", action="store_true", help="draw translations at random instead of searching"
    )
    parser.add_argument(
        "--temperature", type=command.number(1e-6), help="of sampling, 1 without it"
    )
    parser.add_argument(
        "--top-k", type=command.whole_number(1), metavar="K", help="sample among the K likeliest"
    )
    parser.add_argument(
        "--top-p", type=command.number(1e-9), metavar="P", help="among the likeliest that make up P"
    )
    parser.add_argument(
        "--seed", type=command.whole_number(0, MOST_SEED), help="of sampling, 1 without it"
    )
    parser.add_argument(
        "--forced",
        type=Path,
        metavar="FILE",
        help="translations to score instead, parallel to INPUT",
    )
    parser.add_argument(
        "--precision", choices=["float32", "bfloat16"], default="float32", help="of the weights"
    )
    parser.add_argument(
        "--threads", type=command.whole_number(1), help="CPU threads; all without it"
    )
    command.run(main, parser)
