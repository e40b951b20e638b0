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
    mirror = args.mirror or os.environ.get("NMT_MIRROR")
    download(args.archive, archive, args.output, Path(mirror) if mirror else None)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_catalog(parser)
    command.require(parser, "NAME", corpus="of corpora.yaml", archive="of the corpus")
    command.require(parser, "FILE", output="the archive")
    command.offer(parser, "FOLDER", mirror="to look in first (default: that of NMT_MIRROR)")
    command.run(main, parser)
