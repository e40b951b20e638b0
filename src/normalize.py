"""Turns raw text of one language into what a vocabulary is learned from and encodes, line by
line.
"""

from argparse import Namespace
from pathlib import Path

from nmt.command import arguments, run, whole_number
from nmt.configuration import load_catalog
from nmt.errors import UserError, nearest
from nmt.files import read_lines, write_lines
from nmt.progress import progress
from nmt.text.preprocessing import preprocess_lines


def main(args: Namespace) -> None:
    catalog = load_catalog(args.catalog)
    languages = catalog.corpus(args.corpus).languages.values()
    if args.language not in languages:
        raise UserError(f"unknown language {args.language!r}: {nearest(args.language, languages)}")
    vocabulary = catalog.vocabulary(args.vocabulary)
    lines = preprocess_lines(read_lines(args.input), vocabulary, args.language, args.jobs)
    write_lines(args.output, progress(lines, f"normalize {args.input.name}", None, "lines"))


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument(
        "--catalog",
        type=Path,
        required=True,
        help="the folder of corpora.yaml and experiments.yaml",
    )
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument("--language", required=True, help="a language of the corpus, as en")
    parser.add_argument("--input", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument(
        "--jobs", type=whole_number(1), default=1, help="processes (default: %(default)s)"
    )
    run(main, parser)
