"""Draws one figure of a reproduction from what its runs have left, as PDF and PNG."""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration import load_reproduction, lookup, read_yaml
from nmt.paper.drawing import Drawing, save
from nmt.paper.figures import FIGURES, draw


def main(args: argparse.Namespace) -> None:
    values = read_yaml(args.reproduction, dict) | {"catalog": str(args.catalog)}
    reproduction, catalog = load_reproduction(values, str(args.reproduction))
    table = lookup(reproduction.tables, args.table or next(iter(reproduction.tables)), "table")
    save(draw(args.figure, Drawing(reproduction, catalog, table, args.runs)), args.pdf, args.png)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--catalog", type=Path, default=Path("config"), metavar="FOLDER")
    parser.add_argument(
        "--reproduction", type=Path, required=True, metavar="FILE", help="a YAML file with tables"
    )
    parser.add_argument("--figure", required=True, choices=FIGURES)
    parser.add_argument(
        "--table", metavar="NAME", help="whose rows are drawn; the first table's without it"
    )
    parser.add_argument("--runs", type=Path, default=Path("results/runs"), metavar="FOLDER")
    parser.add_argument("--pdf", type=Path, required=True, metavar="FILE")
    parser.add_argument("--png", type=Path, required=True, metavar="FILE")
    command.run(main, parser)
