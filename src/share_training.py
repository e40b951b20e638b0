"""Give an experiment the finished training of another, equal but for averaging and search.

The checkpoints are hard links, which take no room.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.training.published import share_run


def main(args: argparse.Namespace) -> None:
    """Link the checkpoints and copy the rest."""
    share_run(args.run, args.output)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--run", type=Path, required=True, metavar="FOLDER", help="of the finished training"
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="of the experiment's own run"
    )
    command.run(main, parser)
