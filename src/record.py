"""Record what Snakemake has made, in results/record.json, by which a copy can be adopted.

Snakemake runs it at the end of each call; adopt.py reads the record. It works in the folder that
Snakemake works in.
"""

import argparse

from nmt import command
from nmt.records import record


def main(args: argparse.Namespace) -> None:
    """Write the record."""
    record()


if __name__ == "__main__":
    command.run(main, command.arguments(__doc__))
