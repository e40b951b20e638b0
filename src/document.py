"""Write what the configuration classes say of every key: JSON schemas and a page of documentation.

With the schemas an editor completes keys, explains them and marks mistakes; the workflow itself
checks more, and with clearer messages.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration.page import page
from nmt.configuration.schemas import schemas
from nmt.files import write_json, write_text


def main(args: argparse.Namespace) -> None:
    """Write the schemas and the page."""
    for name, schema in schemas().items():
        write_json(args.schemas / f"{name}.json", schema)
    write_text(args.page, page())


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--schemas", type=Path, required=True, metavar="FOLDER", help="as workflow/schemas"
    )
    parser.add_argument(
        "--page", type=Path, required=True, metavar="FILE", help="as docs/configuration.md"
    )
    command.run(main, parser)
