"""Give an experiment the finished training of another, equal but for averaging and search.

The checkpoints are hard links, which take no room.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.files import read_json
from nmt.training.run_folder import TRAINING_REMEDY, publish_run


def main(args: argparse.Namespace) -> None:
    """Link the checkpoints and copy the rest."""
    publish_run(
        args.output,
        sorted((args.run / "checkpoints").glob("*.safetensors")),
        args.run / "metrics.jsonl",
        read_json(args.run / "training.json", ["settings"], TRAINING_REMEDY),
    )


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--run", type=Path, required=True, metavar="FOLDER", help="of the finished training"
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="of the experiment's own run"
    )
    command.run(main, parser)
