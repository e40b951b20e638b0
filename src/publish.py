"""Make one page of a reproduction's tables, figures and runs, with everything in it."""

import argparse

from nmt import command
from nmt.configuration import read_reproduction
from nmt.files import write_text
from nmt.pages.index import index_page
from nmt.paper.results import RunFiles


def main(args: argparse.Namespace) -> None:
    """Write the page beside the tables and figures that it shows."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    folder = args.output.parent
    write_text(args.output, index_page(reproduction, catalog, RunFiles(args.runs), folder))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    command.add_runs(parser)
    command.require(parser, "FILE", output="index.html in the folder of tables and figures")
    command.run(main, parser)
