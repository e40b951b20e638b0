"""Download one archive of a corpus, from a mirror folder or the network, and verify it."""

import argparse
import os
from pathlib import Path

from nmt import command
from nmt.configuration import load_catalog, lookup
from nmt.text.download import download


def main(args: argparse.Namespace) -> None:
    """Download the archive that the arguments name."""
    corpus = load_catalog(args.catalog).corpus(args.corpus)
    archive = lookup(corpus.archives, args.archive, "archive")
    download(args.archive, archive, args.output, args.mirror)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_catalog(parser)
    command.require(parser, "NAME", corpus="of corpora.yaml", archive="of the corpus")
    command.require(parser, "FILE", output="the archive")
    parser.add_argument(
        "--mirror",
        type=Path,
        default=os.environ.get("NMT_MIRROR") or None,
        metavar="FOLDER",
        help="a folder to look in first (default: the environment variable NMT_MIRROR)",
    )
    command.run(main, parser)
