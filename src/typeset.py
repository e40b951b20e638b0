"""Make one table of a reproduction from its runs, as CSV, Markdown and LaTeX."""

import argparse

from nmt import command
from nmt.configuration import read_reproduction
from nmt.files import read_json, write_text
from nmt.paper.markup import csv, latex, markdown
from nmt.paper.results import RunFiles
from nmt.paper.sheets import SHEETS, make_sheet


def main(args: argparse.Namespace) -> None:
    """Make the table and write it in its three forms."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    significance = read_json(args.significance) if args.significance else {}
    sheet = make_sheet(args.table, reproduction, catalog, RunFiles(args.runs), significance)
    write_text(args.csv, csv(sheet))
    write_text(args.markdown, markdown(sheet))
    write_text(args.latex, latex(sheet, f"{reproduction.name}-{args.table}"))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    command.add_runs(parser)
    command.require(parser, "NAME", table=f"one of its tables, or {', '.join(SHEETS)}")
    command.offer(parser, "FILE", significance="the output of compare.py for the table's rows")
    command.require(parser, "FILE", csv="CSV", markdown="Markdown", latex="LaTeX")
    command.run(main, parser)
