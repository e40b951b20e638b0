"""Extract one split of a corpus from archives or files to two text files, a sentence a line.

Splits that are held out of the training text are chosen here, and left out of it. Of the training
text only what the filters of the corpus leave is written.
"""

import argparse
import logging

from nmt import command
from nmt.configuration import load_catalog
from nmt.errors import UserError
from nmt.files import atomic_write, write_json
from nmt.progress import progress
from nmt.text.corpora import Filters, sentence_pairs


def main(args: argparse.Namespace) -> None:
    """Write both sides of the split, and how many pairs were dropped by which filter."""
    corpus = load_catalog(args.catalog).corpus(args.corpus)
    filters = Filters(corpus, args.split, (args.test_sources or (), args.test_targets or ()))
    if "overlap" in filters.names and not (args.test_sources and args.test_targets):
        raise UserError("the filter `overlap` needs --test-sources and --test-targets.")
    pairs = filters.kept(sentence_pairs(corpus, args.split, args.archives))
    with (
        atomic_write(args.source) as source_path,
        atomic_write(args.target) as target_path,
        open(source_path, "w", encoding="utf-8", newline="") as source_file,
        open(target_path, "w", encoding="utf-8", newline="") as target_file,
    ):
        for source, target in progress(pairs, f"extract {args.split}", None, "pairs"):
            source_file.write(source + "\n")
            target_file.write(target + "\n")
    if filters.names:
        logging.info(f"{args.split}: {filters.counts}")
    if args.counts:
        write_json(args.counts, filters.counts)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_catalog(parser)
    command.require(parser, "NAME", corpus="of corpora.yaml", split="of the corpus")
    command.require(parser, "FOLDER", archives="the downloads")
    command.require(parser, "FILE", source="text to write", target="parallel to it")
    tests = "the side of dev and test sets"
    command.require(parser, "FILE", "*", test_sources=tests, test_targets=tests)
    command.offer(parser, "FILE", counts="of dropped pairs to write, as JSON")
    command.run(main, parser)
