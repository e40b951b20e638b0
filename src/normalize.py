"""Preprocess raw text of one language line by line.

The output is the text that vocabularies are learned from and that they encode.
"""

import argparse
from itertools import chain
from pathlib import Path

from nmt import command
from nmt.files import read_lines, write_lines
from nmt.progress import progress
from nmt.text.chunks import chunked, in_processes
from nmt.text.preprocessing import STEPS, Preprocessing


def main(args: argparse.Namespace) -> None:
    """Preprocess the input file."""
    chunks = chunked(read_lines(args.input))
    done = in_processes(Preprocessing, (args.steps, args.language), chunks, args.jobs)
    lines = chain.from_iterable(done)
    write_lines(args.output, progress(lines, f"normalize {args.input.name}", None, "lines"))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--language", required=True, help="of the text, such as en")
    parser.add_argument(
        "--steps",
        nargs="*",
        default=[],
        choices=STEPS,
        metavar="STEP",
        help=f"any of {', '.join(STEPS)}, done in this order; white space is always normalized",
    )
    parser.add_argument("--input", type=Path, required=True, help="raw text, plain or .gz")
    parser.add_argument("--output", type=Path, required=True, help="the file to write")
    command.add_jobs(parser, "processes")
    command.run(main, parser)
