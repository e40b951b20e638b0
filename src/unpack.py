"""Take a reproduction, or one finished training, from an archive of pack.py.

Every file is compared with the manifest first, and no file that is there is replaced by another.
With --run only that training comes, for the data that `snakemake --until binarize` has prepared:
snakemake then makes all that follows from it, and does not train it again.
"""

import argparse
import logging
from pathlib import Path

from nmt import command
from nmt.archive.packing import unpack


def main(args: argparse.Namespace) -> None:
    """Check all files, and give them their places."""
    names = unpack(args.archive, args.results, args.run)
    logging.info(f"{args.results}: {len(names)} files from {args.archive}")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--archive", type=Path, required=True, metavar="FILE")
    parser.add_argument(
        "--run", metavar="EXPERIMENT/seed-N", help="one training, packed with its checkpoints"
    )
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="FOLDER")
    command.run(main, parser)
