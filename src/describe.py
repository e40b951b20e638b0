"""Write the model card of a model's folder, with the scores that are given."""

import argparse
from pathlib import Path

from nmt import command
from nmt.files import read_json, write_text
from nmt.serving.card import model_card
from nmt.serving.folder import read_configuration

SUFFIX = ".scores.json"


def main(args: argparse.Namespace) -> None:
    """Write the card."""
    remedy = "delete it and run snakemake, or score.py, which make it again"
    scores = {
        path.name.removesuffix(SUFFIX): read_json(path, ["sentences"], remedy)
        for path in args.scores
    }
    write_text(args.output, model_card(read_configuration(args.model), scores))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_model(parser)
    parser.add_argument(
        "--scores",
        type=Path,
        nargs="*",
        default=[],
        metavar="FILE",
        help=f"SPLIT{SUFFIX}, made by score.py",
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
