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
    parser.add_argument("--catalog", type=Path, required=True, help="the folder of corpora.yaml")
    parser.add_argument("--corpus", required=True, help="an entry of corpora.yaml")
    parser.add_argument("--archive", required=True, help="an archive of the corpus")
    parser.add_argument("--output", type=Path, required=True, help="the file to write")
    parser.add_argument(
        "--mirror",
        type=Path,
        default=os.environ.get("NMT_MIRROR") or None,
        metavar="FOLDER",
        help="a folder to look in first (default: the environment variable NMT_MIRROR)",
    )
    command.run(main, parser)
