"""Make the page of a table's translations: source, reference and all systems side by side."""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration import lookup, read_reproduction
from nmt.errors import UserError
from nmt.files import write_text
from nmt.pages.translations import translations_page


def main(args: argparse.Namespace) -> None:
    """Write the page."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    rows = lookup(reproduction.tables, args.table, "table").experiments
    if len(args.translations) != len(rows):
        raise UserError(
            f"table {args.table} has {len(rows)} rows: give a file of translations for each, in"
            " their order."
        )
    files = dict(zip(rows, args.translations, strict=True))
    page = translations_page(args.table, reproduction, catalog, files, args.source, args.references)
    write_text(args.output, page)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    command.require(parser, "NAME", table="one of its tables")
    parser.add_argument(
        "--translations",
        type=Path,
        required=True,
        nargs="+",
        metavar="FILE",
        help="of each row of the table, in their order",
    )
    command.require(parser, "FILE", source="text", references="parallel to it", output="the page")
    command.run(main, parser)
