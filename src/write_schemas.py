"""Writes the JSON schemas of the configuration files, generated from the configuration's classes."""

import json
from argparse import Namespace
from pathlib import Path

from nmt.command import arguments, run
from nmt.configuration import schemas
from nmt.files import write_text


def main(args: Namespace) -> None:
    for name, schema in schemas().items():
        write_text(args.output / f"{name}.json", json.dumps(schema, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER", help="as workflow/schemas")
    run(main, parser)
