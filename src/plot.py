"""Draw one figure of a reproduction from the files of its runs, as PDF and PNG."""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration import load_reproduction, lookup, read_yaml
from nmt.paper.drawing import Drawing, save
from nmt.paper.figures import FIGURES, draw, origin


def main(args: argparse.Namespace) -> None:
    """Draw the figure and write both files."""
    values = read_yaml(args.reproduction, dict) | {"catalog": str(args.catalog)}
    reproduction, catalog = load_reproduction(values, str(args.reproduction))
    table_name = args.table or next(iter(reproduction.tables))
    table = lookup(reproduction.tables, table_name, "table")
    drawing = Drawing(reproduction, catalog, table, args.runs)
    figure = draw(args.figure, drawing)
    save(figure, args.pdf, args.png, origin(args.figure, drawing))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    parser.add_argument("--figure", required=True, choices=FIGURES)
    parser.add_argument(
        "--table", metavar="NAME", help="the table whose rows are drawn; by default the first"
    )
    parser.add_argument("--pdf", type=Path, required=True, metavar="FILE")
    parser.add_argument("--png", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
