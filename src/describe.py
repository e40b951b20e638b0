"""Writes the model card of a model's folder: README.md in it, with the scores that are given, and a
copy.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.files import read_json, write_text
from nmt.serving.card import card
from nmt.serving.folder import read_configuration

SUFFIX = ".scores.json"


def main(args: argparse.Namespace) -> None:
    scores = {path.name.removesuffix(SUFFIX): read_json(path) for path in args.scores}
    text = card(read_configuration(args.model), scores)
    write_text(args.model / "README.md", text)
    write_text(args.output, text)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--model", type=Path, required=True, metavar="FOLDER", help="made by average.py"
    )
    parser.add_argument(
        "--scores",
        type=Path,
        nargs="*",
        default=[],
        metavar="FILE",
        help=f"SPLIT{SUFFIX}, made by score.py",
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the copy")
    command.run(main, parser)
