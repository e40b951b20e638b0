"""Drop pairs of training text by the filters of its corpus, and count them by filter."""

import argparse
import logging
from pathlib import Path

from nmt import command
from nmt.configuration import load_catalog
from nmt.errors import UserError
from nmt.files import atomic_write, write_json
from nmt.text.filters import clean


def main(args: argparse.Namespace) -> None:
    """Write the pairs that are kept, and the counts."""
    corpus = load_catalog(args.catalog).corpus(args.corpus)
    if len(args.test_sources) != len(args.test_targets):
        raise UserError("give as many --test-sources as --test-targets: they belong together.")
    tests = list(zip(args.test_sources, args.test_targets, strict=True))
    with atomic_write(args.output_source) as source, atomic_write(args.output_target) as target:
        text = (args.source, args.target)
        counts = clean(corpus, text, tests, (source, target), args.jobs)
        if not counts["kept"]:
            raise UserError(f"no pair of {args.source} is kept ({counts}): check `cleaning`.")
    write_json(args.output, counts)
    logging.info(f"kept {counts['kept']} of {counts['raw']} pairs, dropped {counts['dropped']}")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--catalog", type=Path, required=True, help="the folder of corpora.yaml")
    parser.add_argument("--corpus", required=True, help="an entry of corpora.yaml")
    parser.add_argument("--source", type=Path, required=True, help="raw source text")
    parser.add_argument("--target", type=Path, required=True, help="raw target text")
    parser.add_argument(
        "--test-sources", type=Path, nargs="*", default=[], metavar="FILE", help="dev and test sets"
    )
    parser.add_argument("--test-targets", type=Path, nargs="*", default=[], metavar="FILE")
    parser.add_argument("--output-source", type=Path, required=True, metavar="FILE")
    parser.add_argument("--output-target", type=Path, required=True, metavar="FILE")
    parser.add_argument("--output", type=Path, required=True, help="the counts, a JSON file")
    command.add_jobs(parser, "processes")
    command.run(main, parser)
