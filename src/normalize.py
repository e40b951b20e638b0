"""Preprocess raw text of one language line by line.

The output is the text that vocabularies are learned from and that they encode.
"""

import argparse
from itertools import chain

from nmt import command
from nmt.files import read_lines, write_lines
from nmt.progress import progress
from nmt.text.chunks import chunked, in_processes
from nmt.text.preprocessing import STEPS, Preprocessing


def main(args: argparse.Namespace) -> None:
    """Preprocess the input file."""
    preprocessing = Preprocessing(args.steps, args.language)
    done = in_processes(preprocessing, chunked(read_lines(args.input)), args.jobs)
    lines = chain.from_iterable(done)
    write_lines(args.output, progress(lines, f"normalize {args.input.name}", None, "lines"))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "CODE", language="of the text, such as en")
    parser.add_argument(
        "--steps",
        nargs="*",
        default=[],
        choices=STEPS,
        metavar="STEP",
        help=f"any of {', '.join(STEPS)}, done in this order; white space is always normalized",
    )
    command.require(parser, "FILE", input="raw text, plain or .gz", output="text")
    command.add_jobs(parser)
    command.run(main, parser)
