"""Check what papers and lectures claim against measured runs, and write the ledger as Markdown."""

import argparse

from nmt import command
from nmt.configuration import Claim, read_list
from nmt.files import write_text
from nmt.paper.claims import claims_page, claims_table
from nmt.paper.results import RunFiles


def main(args: argparse.Namespace) -> None:
    """Write the ledger."""
    claims = list(read_list(args.claims, Claim).values())
    data = claims_table(claims, args.claims.parent, RunFiles(args.runs))
    write_text(args.output, claims_page(data))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FILE", claims="a list of claims", output="the ledger")
    command.add_runs(parser)
    command.run(main, parser)
