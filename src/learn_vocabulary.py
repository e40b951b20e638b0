"""Learns the subwords of a corpus from the normalized training text: of both languages together, or
of each by itself.

OUTPUT gets source.model and target.model, which are the same where they are learned together.
"""

from argparse import Namespace
from contextlib import nullcontext
from pathlib import Path

from nmt.command import arguments, run, whole_number
from nmt.configuration import load_catalog
from nmt.files import written_whole
from nmt.text.subwords import SUBWORD_FILES, learn_pair


def main(args: Namespace) -> None:
    vocabulary = load_catalog(args.catalog).vocabulary(args.vocabulary)
    with open(args.log, "a", encoding="utf-8") if args.log else nullcontext() as log:
        models = learn_pair(vocabulary, args.source, args.target, args.jobs, log)
    with written_whole(args.output) as beside:
        beside.mkdir()
        for name, model in zip(SUBWORD_FILES, models, strict=True):
            (beside / name).write_bytes(model)


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--catalog", type=Path, required=True, help="the folder of experiments")
    parser.add_argument("--vocabulary", required=True)
    parser.add_argument(
        "--source", type=Path, required=True, metavar="FILE", help="normalized source text"
    )
    parser.add_argument(
        "--target", type=Path, required=True, metavar="FILE", help="normalized target text"
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="the folder to write"
    )
    parser.add_argument(
        "--jobs", type=whole_number(1), default=1, help="threads (default: %(default)s)"
    )
    run(main, parser)
