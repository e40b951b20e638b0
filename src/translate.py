"""Translate plain text, line by line, with a trained model or an ensemble of several.

Each line of text gives one line of text: from a pipe as soon as it is there, from a file 4,000 at a
time. --n-best gives several lines for each, which begin with its number, from 0; --scores (and
--forced) puts the score (log probability / length penalty) before the text, and --alignments puts
pairs of word numbers, source-target, behind it: fields are separated by tabs. Words are those that
subwords are made of: of a vocabulary that tokenizes, its tokens.
"""

import argparse
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from nmt import command

# isort: split
import torch

from nmt.configuration import MOST_ALPHA, MOST_SEED
from nmt.device import set_threads
from nmt.errors import UserError
from nmt.files import read_lines
from nmt.progress import Progress
from nmt.serving.folder import TranslationModel
from nmt.serving.methods import choose_method
from nmt.serving.stream import (
    LINES_PER_BLOCK,
    BlockTranslator,
    OutputFields,
    read_blocks,
    write,
)
from nmt.text.chunks import in_processes


def main(args: argparse.Namespace) -> None:
    """Load the model, translate all lines, and write them as they are ready."""
    total = sum(1 for _ in read_lines(args.input)) if args.input and args.input.is_file() else None
    with Progress("translating", total, "lines") as progress:
        write(chain.from_iterable(translated_blocks(args, total, progress)), args.output)


def translated_blocks(
    args: argparse.Namespace, total: int | None, progress: Progress
) -> Iterator[list[str]]:
    """Yield the output lines of each block of the input, which has `total` lines if it is a file.

    With --jobs the blocks of a file are translated side by side, two by each process or more, so
    that all are busy to the end.
    """
    if args.jobs == 1:
        translator = make_translator(args, progress.update)
        yield from map(translator, read_blocks(args.input, args.forced))
        return
    if total is None:
        raise UserError("--jobs shares the lines of a file: name one with --input, and no pipe.")
    size = min(LINES_PER_BLOCK, -(-max(1, total) // (2 * args.jobs)))
    blocks = read_blocks(args.input, args.forced, size)
    for lines in in_processes(make_translator, (args,), blocks, args.jobs):
        progress.update(min(size, total - progress.completed))
        yield lines


def make_translator(
    args: argparse.Namespace, report: Callable[[int], None] = lambda count: None
) -> BlockTranslator:
    """Return what translates blocks. Raises UserError for options that contradict each other.

    report: called with the number of lines of each batch. Processes that have others beside them
    compute with one thread if they are not told otherwise.
    """
    set_threads(args.threads or (1 if args.jobs > 1 else None))
    model = TranslationModel(
        *args.model,
        precision=getattr(torch, args.precision),
        gpus=args.gpus,
        max_length=args.max_length,
    )
    if args.alignments and len(args.model) > 1:
        raise UserError(
            "several models have no common attention, so there are no alignments: give one."
        )
    method = choose_method(
        model,
        search_settings=given(args, "beam", "alpha", "penalty", "stop"),
        sampling_settings=given(args, "temperature", "top_k", "top_p", "seed"),
        sample=args.sample,
        forced=bool(args.forced),
        n_best=args.n_best,
    )
    fields = OutputFields(
        numbers=bool(args.n_best),
        scores=args.scores or bool(args.forced),
        alignments=args.alignments,
    )
    return BlockTranslator(model, method, fields, report)


def given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the arguments of these names that were given."""
    values = vars(args)
    return {name: values[name] for name in names if values[name] is not None}


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--model",
        type=Path,
        nargs="+",
        required=True,
        metavar="FOLDER",
        help="made by average.py; several of one vocabulary translate as an ensemble",
    )
    parser.add_argument("--input", type=Path, metavar="FILE", help="source; default standard input")
    parser.add_argument("--output", type=Path, metavar="FILE", help="default: standard output")
    parser.add_argument(
        "--n-best",
        type=command.whole_number(1),
        metavar="N",
        help="translations per line, fewer where search finds fewer",
    )
    parser.add_argument("--scores", action="store_true", help="print each translation's score")
    parser.add_argument("--alignments", action="store_true", help="with words linked by attention")
    parser.add_argument(
        "--beam", type=command.whole_number(1), help="beam width instead of the model's own"
    )
    parser.add_argument(
        "--alpha",
        type=command.number(0, MOST_ALPHA),
        help="the length penalty's exponent instead of the model's own",
    )
    parser.add_argument(
        "--penalty",
        choices=["wu", "power", "none"],
        help="((5 + |Y|) / 6)^alpha, |Y|^alpha or 1 instead of the model's own",
    )
    parser.add_argument(
        "--stop",
        choices=["exact", "beam"],
        help="when nothing better can come, or as soon as BEAM are finished",
    )
    parser.add_argument("--sample", action="store_true", help="draw at random instead of searching")
    parser.add_argument(
        "--temperature", type=command.number(1e-6, 1e6), help="of sampling, default 1"
    )
    parser.add_argument(
        "--top-k", type=command.whole_number(1), metavar="K", help="sample from the K likeliest"
    )
    parser.add_argument(
        "--top-p", type=command.number(1e-9), metavar="P", help="from the likeliest that make up P"
    )
    parser.add_argument(
        "--seed", type=command.whole_number(0, MOST_SEED), help="of sampling, default 1"
    )
    parser.add_argument(
        "--forced", type=Path, metavar="FILE", help="translations to score, parallel to the source"
    )
    parser.add_argument(
        "--max-length",
        type=command.whole_number(1),
        metavar="N",
        help="subwords of a line, the others are cut off with a warning; default: four times as"
        " many as the longest sentence of training could have",
    )
    parser.add_argument(
        "--precision", choices=["float32", "bfloat16"], default="float32", help="of the weights"
    )
    command.add_jobs(parser, "processes, each with a model and threads of its own")
    command.add_threads(parser)
    command.add_gpus(parser)
    command.run(main, parser)
