"""Draw one figure of a table from the files of its runs, as PNG, PDF and CSV of its data."""

import argparse

from nmt import command
from nmt.configuration import lookup, read_reproduction
from nmt.files import write_text
from nmt.paper.drawing import Drawing, draw, save
from nmt.paper.figures import FIGURES
from nmt.paper.results import RunFiles


def main(args: argparse.Namespace) -> None:
    """Draw the figure, then write its files."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    table = lookup(reproduction.tables, args.table, "table")
    drawing = Drawing(reproduction, catalog, table, RunFiles(args.runs))
    picture = draw(args.figure, drawing)
    save(picture, args.pdf, args.png)
    write_text(args.csv, picture.data.to_csv(index=False, lineterminator="\n"))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    command.add_runs(parser)
    command.require(parser, "NAME", table="whose rows are drawn")
    parser.add_argument("--figure", required=True, choices=FIGURES, metavar="NAME")
    command.require(parser, "FILE", png="picture", pdf="picture", csv="its data")
    command.run(main, parser)
