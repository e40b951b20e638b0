"""Learn subwords from normalized training text, of both languages together or of each separately.

The output is FOLDER/source.model and FOLDER/target.model, which are the same when both languages
are learned together, and FOLDER/SHA256SUMS.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration import load_catalog
from nmt.files import atomic_write
from nmt.text.subwords import learn_pair, write_subwords


def main(args: argparse.Namespace) -> None:
    """Learn the subwords and write them."""
    vocabulary = load_catalog(args.catalog).vocabulary(args.vocabulary)
    models = learn_pair(vocabulary, args.source, args.target, args.jobs)
    with atomic_write(args.output) as temporary:
        temporary.mkdir()
        write_subwords(temporary, models)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--catalog", type=Path, required=True, help="the folder of experiments/")
    parser.add_argument("--vocabulary", required=True, help="a vocabulary of experiments/")
    parser.add_argument(
        "--source", type=Path, required=True, metavar="FILE", help="normalized source text"
    )
    parser.add_argument(
        "--target", type=Path, required=True, metavar="FILE", help="normalized target text"
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="the folder to write"
    )
    command.add_jobs(parser, "processes")
    command.run(main, parser)
