"""Translate plain text, line by line, with a trained model or an ensemble of several.

Each line of text gives one line of text: from a pipe as soon as it is there, from a file 4,000 at a
time. --n-best gives several lines for each, which begin with its number, from 0; --scores (and
--forced) puts the score (log probability / length penalty) before the text: fields are separated by
tabs.
"""

import argparse
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nmt import command
from nmt.configuration import MOST_ALPHA, MOST_SEED
from nmt.decoding.sampling import Sampling
from nmt.decoding.translator import force_tokens, in_order, sample_tokens, translate_tokens
from nmt.errors import UserError
from nmt.progress import Progress
from nmt.serving.folder import TranslationModel
from nmt.serving.stream import read_blocks, write
from nmt.text.subwords import UNK


def main(args: argparse.Namespace) -> None:
    """Load the model, translate all lines, and write them as they are ready."""
    # A bar would stand among the lines where both are on the terminal.
    quiet = not args.output and sys.stdout.isatty()
    with Progress("translating", None, "lines", quiet=quiet) as progress:
        write(translated(args, progress), args.output)


def translated(args: argparse.Namespace, progress: Progress) -> Iterator[str]:
    """Yield the output lines of the input. Raises UserError for options that do not go together."""
    model = TranslationModel(*args.model, gpus=args.gpus)
    model.halve_on_gpu()
    decoding = model.experiment.decoding.model_copy(update=given(args, "beam", "alpha"))
    sampling = given(args, "temperature", "top_k", "top_p", "seed")
    count = args.n_best or 1
    if sampling and not args.sample:
        raise UserError("--temperature, --top-k, --top-p and --seed are of --sample: add it.")
    if args.beam and args.sample:
        raise UserError("--beam is of search, not of --sample: leave one out.")
    if count > decoding.beam and not args.sample:
        raise UserError(f"a beam of {decoding.beam} does not find {count}: add --beam {count}.")
    unknown: list[int] = []  # lines
    for first, lines, targets in read_blocks(args.input, args.forced):
        sources = model.encode(lines, first + 1)
        forced = model.encode_target(targets, first + 1) if args.forced else []
        pairs_of_lines = enumerate(zip(sources, forced or sources, strict=True), first + 1)
        unknown += [number for number, (one, other) in pairs_of_lines if UNK in one + other]
        if args.forced:
            batches = force_tokens(model.model, sources, forced, decoding)
        elif args.sample:
            settings = Sampling(**sampling)
            batches = sample_tokens(model.model, sources, decoding, settings, count, first)
        else:
            batches = translate_tokens(model.model, sources, decoding, count)
        ordered = in_order(batches, len(lines), progress.update)
        for number, n_best in enumerate(ordered, first):
            for hypothesis in n_best:
                fields = [str(number)] if args.n_best else []
                fields += [f"{hypothesis.score:.4f}"] if args.scores or args.forced else []
                yield "\t".join([*fields, model.decode(hypothesis.tokens)])
    if unknown:
        logging.warning(
            f"lines with unknown subwords, which the vocabulary lacks: {len(unknown)}, the first is"
            f" line {unknown[0]}."
        )


def given(args: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the arguments of these names that were given."""
    return {name: value for name in names if (value := getattr(args, name)) is not None}


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    add = parser.add_argument
    several = "made by average.py; several of one vocabulary translate as an ensemble"
    add("--model", type=Path, nargs="+", required=True, metavar="FOLDER", help=several)
    add("--input", type=Path, metavar="FILE", help="source; default: standard input")
    add("--output", type=Path, metavar="FILE", help="default: standard output")
    count = command.whole_number(1, 1000)
    add("--n-best", type=count, metavar="N", help="translations per line, if so many are found")
    add("--scores", action="store_true", help="print each translation's score")
    add("--beam", type=count, help="beam width instead of the model's own")
    alpha = command.number(0, MOST_ALPHA)
    add("--alpha", type=alpha, help="the length penalty's exponent instead of the model's own")
    method = parser.add_mutually_exclusive_group()
    method.add_argument("--sample", action="store_true", help="draw at random, without search")
    parallel = "score these translations, parallel to the source"
    method.add_argument("--forced", type=Path, metavar="FILE", help=parallel)
    add("--temperature", type=command.number(1e-6, 1e6), help="of sampling, default 1")
    add("--top-k", type=count, metavar="K", help="sample from the K likeliest")
    probability = command.number(1e-9, 1)
    add("--top-p", type=probability, metavar="P", help="from the likeliest that make up P")
    add("--seed", type=command.whole_number(0, MOST_SEED), help="of sampling, default 1")
    command.add_device(parser)
    command.run(main, parser)
