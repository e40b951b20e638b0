"""Fetches one archive of a corpus, from a mirror folder or the network, and checks it."""

import os
from argparse import Namespace
from pathlib import Path

from nmt.command import arguments, run
from nmt.configuration import load_catalog, lookup
from nmt.text.download import download


def main(args: Namespace) -> None:
    corpus = load_catalog(args.catalog).corpus(args.corpus)
    archive = lookup(corpus.archives, args.archive, "archive")
    download(args.archive, archive, args.output, args.mirror)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--catalog", type=Path, required=True, help="the folder of corpora.yaml")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--archive", required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument(
        "--mirror",
        type=Path,
        default=os.environ.get("NMT_MIRROR") or None,
        help=(
            "a folder to look in before the network (default: the environment variable NMT_MIRROR)"
        ),
    )
    run(main, parser)
