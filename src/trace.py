"""Write what a reproduction's numbers and figures rest on: files, checksums, how they were made.

OUTPUT is manifest.json, which verify.py and pack.py read, in the folder of tables and figures.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.archive.chain import Chain
from nmt.archive.manifest import make_manifest, write_manifest
from nmt.configuration import load_reproduction, read_yaml
from nmt.errors import UserError


def main(args: argparse.Namespace) -> None:
    """Compute the checksums of all files and write the manifest."""
    values = read_yaml(args.reproduction, dict) | {"catalog": str(args.catalog)}
    reproduction, catalog = load_reproduction(values, str(args.reproduction))
    results = args.runs.parent
    if args.output.resolve().parent != (results / reproduction.name).resolve():
        raise UserError(
            f"{args.output} is not in {results / reproduction.name}, where tables and figures are."
        )
    drawn_from = dict(pair.split("=", 1) for pair in args.drawn_from)
    write_manifest(args.output, make_manifest(Chain(results, reproduction, catalog, drawn_from)))


def figure_and_file(text: str) -> str:
    """Return FIGURE=FILE as it is."""
    if not all(text.partition("=")):
        raise argparse.ArgumentTypeError(f"{text!r} is not FIGURE=FILE")
    return text


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    parser.add_argument(
        "--drawn-from",
        type=figure_and_file,
        nargs="*",
        default=[],
        metavar="FIGURE=FILE",
        help="the file of each run of the first table that a figure shows",
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
