"""Write a reproduction's resolved configuration, which tables and figures are made from."""

import argparse
import json
from pathlib import Path

from nmt import command
from nmt.configuration import Reproduction, validated
from nmt.files import write_json


def main(args: argparse.Namespace) -> None:
    """Validate the values and write them."""
    reproduction = validated(Reproduction, args.values, "--values")
    write_json(args.output, reproduction.model_dump(mode="json", exclude={"mirror"}))


def json_value(text: str) -> object:
    """Return the value of a text in JSON."""
    try:
        return json.loads(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is not valid JSON: {error}") from None


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--values",
        type=json_value,
        required=True,
        metavar="JSON",
        help="the reproduction's keys, with those that --config changed",
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
