"""Adopt results that were copied without their times, so that Snakemake does not repeat them.

Files that are as recorded in results/record.json, which was copied with them, get their times back,
and Snakemake its records of them. Run it where Snakemake works, before Snakemake: what has changed
since, in files or in the configuration, is still noticed.
"""

import argparse
import logging

from nmt import command
from nmt.records import adopt

MOST_NAMED = 10


def main(args: argparse.Namespace) -> None:
    """Adopt what is whole, and name what is not."""
    adopted, changed = adopt()
    logging.info(f"{len(adopted)} outputs are as recorded and were adopted.")
    if changed:
        more = f" and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
        logging.warning(
            f"not as recorded: {', '.join(changed[:MOST_NAMED])}{more}. Snakemake repeats what"
            " follows from them; delete what is damaged, and it makes that again, too."
        )


if __name__ == "__main__":
    command.run(main, command.arguments(__doc__))
