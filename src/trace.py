"""Write what a reproduction's numbers and figures rest on: files, checksums, how they were made.

OUTPUT is manifest.json, which verify.py and pack.py read, in the folder of tables and figures.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.archive.chain import Chain
from nmt.archive.manifest import make_manifest, write_manifest
from nmt.configuration import read_reproduction
from nmt.errors import UserError


def main(args: argparse.Namespace) -> None:
    """Compute the checksums of all files and write the manifest."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    results = args.runs.parent
    if args.output.resolve().parent != (results / reproduction.name).resolve():
        raise UserError(
            f"{args.output} is not in {results / reproduction.name}, where tables and figures are."
        )
    write_manifest(args.output, make_manifest(Chain(results, reproduction, catalog)))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    command.add_runs(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
