"""Verify a reproduction against its manifest, without training.

All checksums are compared; then the means in tables, the scores of all translations, the averages
of checkpoints, and the translations of some lines are computed again. Prints what was confirmed,
what differs, and what cannot be checked because a file was not packed. Exits with 1 when something
differs.
"""

import argparse
import logging
from pathlib import Path

from nmt import command
from nmt.archive.manifest import read_manifest
from nmt.archive.verification import verify
from nmt.device import set_threads


def main(args: argparse.Namespace) -> int:
    """Print all findings."""
    logging.getLogger("sacrebleu").setLevel(logging.ERROR)
    set_threads(args.threads)
    manifest = read_manifest(args.folder / "manifest.json")
    results = args.folder.resolve().parent
    counts = {"confirmed": 0, "differs": 0, "not here": 0}
    for finding in verify(results, manifest, args.lines):
        counts[finding.outcome] += 1
        print(f"{finding.outcome}: {finding.text}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 1 if counts["differs"] else 0


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--folder",
        type=Path,
        required=True,
        help="of the reproduction, such as results/demo, with its manifest.json",
    )
    parser.add_argument(
        "--lines",
        type=command.whole_number(0),
        default=5,
        metavar="N",
        help="lines of each file that are translated again (default: %(default)s)",
    )
    command.add_threads(parser)
    command.run(main, parser)
