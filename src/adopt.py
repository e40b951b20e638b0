"""Recognize results that were copied without their times, so that Snakemake does not repeat them.

Files that are as recorded in results/record.json, which was copied with them, get their times back,
and Snakemake its records of them. Snakemake runs it at the start of each call, in the folder that
it works in: what has changed since, in files or in the configuration, is still noticed.
"""

import argparse
import logging

from nmt import command
from nmt.records import RECORD, adopt

MOST_NAMED = 10


def main(args: argparse.Namespace) -> None:
    """Adopt what is whole, and name what is not."""
    adopted, changed = adopt()
    if adopted:
        logging.info(f"Copied results: {len(adopted)} outputs are as {RECORD} has them, and stay.")
    if changed:
        more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
        logging.warning(
            f"Edited since Snakemake used or made them: {', '.join(changed[:MOST_NAMED])}{more}."
            " Whatever depends on them is made again. To get an edited result back, delete it."
        )


if __name__ == "__main__":
    command.run(main, command.arguments(__doc__))
