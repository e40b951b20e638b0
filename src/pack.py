"""Pack a reproduction into one archive, from which others make and verify its tables and pages.

The same files give the same bytes. Without --with there are no corpora (but the splits that tables
show), checkpoints and models.
"""

import argparse
import logging
from pathlib import Path

from nmt import command
from nmt.archive.packing import PARTS, pack


def main(args: argparse.Namespace) -> None:
    """Check all files against the manifest, and write the archive."""
    count = pack(args.folder, args.output, args.parts)
    logging.info(f"{args.output}: {count} files, {args.output.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--folder", type=Path, required=True, help="of the reproduction, such as results/demo"
    )
    parser.add_argument(
        "--with", dest="parts", nargs="+", default=[], choices=PARTS, help="what else goes in"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="a .tar.gz")
    command.run(main, parser)
