"""Translates plain text, line by line, with a trained model or an ensemble of several."""

import argparse
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import torch

from nmt import command
from nmt.decoding.folder import TranslationModel
from nmt.files import decode_lines, read_lines, write_lines
from nmt.progress import Progress

LINES_AT_A_TIME = 4000  # sorted by length among each other


def main(args: argparse.Namespace) -> None:
    if args.threads:
        torch.set_num_threads(args.threads)
    model = TranslationModel(*args.model)
    changes = {key: value for key, value in (("beam", args.beam), ("alpha", args.alpha)) if value is not None}
    decoding = model.experiment.decoding.model_copy(update=changes)
    lines = read_lines(args.input) if args.input else decode_lines(sys.stdin.buffer, "standard input")
    translations = translated(model, lines, decoding)
    if args.output:
        write_lines(args.output, translations)
    else:
        sys.stdout.reconfigure(encoding="utf-8")
        for line in translations:
            print(line)


def translated(model: TranslationModel, lines: Iterable[str], decoding) -> Iterator[str]:
    lines = iter(lines)
    with Progress("translating", None, "lines") as progress:
        while block := list(islice(lines, LINES_AT_A_TIME)):
            found: dict[int, str] = {}
            for batch in model.translate(block, decoding):
                found.update(batch)
                progress.update(len(batch))
            yield from (found[number] for number in range(len(block)))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--model",
        type=Path,
        nargs="+",
        required=True,
        metavar="FOLDER",
        help="made by average.py; several, of one vocabulary, translate together, by the mean of their probabilities",
    )
    parser.add_argument("--input", type=Path, metavar="FILE", help="source text; standard input without it")
    parser.add_argument("--output", type=Path, metavar="FILE", help="translations; standard output without it")
    parser.add_argument("--beam", type=command.whole_number(1), help="beam width instead of the model's own")
    parser.add_argument("--alpha", type=command.number(0), help="length penalty's exponent instead of the model's own")
    parser.add_argument("--threads", type=command.whole_number(1), help="CPU threads; all without it")
    command.run(main, parser)
