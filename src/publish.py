"""Make one page of a reproduction's tables, figures and runs, and beside it explorer.html."""

import argparse

from nmt import command
from nmt.configuration import read_reproduction
from nmt.files import write_text
from nmt.pages.index import pages
from nmt.paper.results import RunFiles


def main(args: argparse.Namespace) -> None:
    """Write the pages beside the tables and figures that they show."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    for name, page in pages(reproduction, catalog, RunFiles(args.runs), args.output).items():
        write_text(args.output / name, page)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    command.add_runs(parser)
    command.require(parser, "FOLDER", output="the one that has tables and figures")
    command.run(main, parser)
