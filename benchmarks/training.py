"""Measure how fast rows of a reproduction train: this project, and other toolkits beside it.

All train on identical batches, which this project makes, with the same optimizer. Toolkits have
AIAYN's Transformer alone; other rows are measured without them.
"""

import argparse
from pathlib import Path

import torch
from harness import THIS, add_rows, again, arguments, compare, device_of, read_rows
from peers import is_comparable, padded, train_step

from nmt import command
from nmt.training.speed import measure, timed


def main(args: argparse.Namespace) -> None:
    """Measure every row in every version."""
    rows = read_rows(args)
    commands = {}
    for row in rows:
        commands[row, THIS] = again(row, THIS)
        if args.against:
            commands[row, "other"] = again(row, THIS, code=args.against)
        if is_comparable(rows[row].experiment.model):
            for toolkit in args.peers:
                commands[row, toolkit] = again(row, toolkit, args.peers_python)

    def measured(row: str, version: str) -> dict[str, float]:
        experiment, tokens, device = rows[row].experiment, rows[row].tokens(), device_of(args)
        if version == THIS:
            speed = measure(experiment, tokens, device, args.updates)
        else:
            torch.manual_seed(1)
            step = train_step(version, experiment, tokens.meta["vocabulary_sizes"][0], device)
            speed = timed(step, padded(experiment, tokens, device), device, args.updates)
        return {
            "target tokens/s": speed.target_tokens / speed.seconds,
            "updates/s": speed.updates / speed.seconds,
        }

    compare(args, commands, measured)


if __name__ == "__main__":
    parser = arguments(__doc__)
    add_rows(parser)
    parser.add_argument(
        "--against", type=Path, metavar="FOLDER", help="another checkout of this project"
    )
    parser.add_argument("--updates", type=command.whole_number(1), default=20)
    command.run(main, parser)
