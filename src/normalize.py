"""Preprocess raw text of one language line by line, as a vocabulary asks for.

The output is the text that the vocabulary is learned from and that it encodes.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration import load_catalog
from nmt.errors import UserError, nearest
from nmt.files import read_lines, write_lines
from nmt.progress import progress
from nmt.text.preprocessing import preprocess_lines


def main(args: argparse.Namespace) -> None:
    """Preprocess the input file."""
    catalog = load_catalog(args.catalog)
    languages = catalog.corpus(args.corpus).languages.values()
    if args.language not in languages:
        raise UserError(f"unknown language {args.language!r}: {nearest(args.language, languages)}")
    vocabulary = catalog.vocabulary(args.vocabulary)
    lines = preprocess_lines(read_lines(args.input), vocabulary, args.language, args.jobs)
    write_lines(args.output, progress(lines, f"normalize {args.input.name}", None, "lines"))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--catalog",
        type=Path,
        required=True,
        help="the folder of corpora.yaml and experiments/",
    )
    parser.add_argument("--corpus", required=True, help="an entry of corpora.yaml")
    parser.add_argument("--vocabulary", required=True, help="a vocabulary of experiments/")
    parser.add_argument("--language", required=True, help="a language of the corpus, such as en")
    parser.add_argument("--input", type=Path, required=True, help="raw text, plain or .gz")
    parser.add_argument("--output", type=Path, required=True, help="the file to write")
    parser.add_argument(
        "--jobs",
        type=command.whole_number(1),
        default=1,
        help="number of processes (default: %(default)s)",
    )
    command.run(main, parser)
