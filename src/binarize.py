"""Encode one split of a corpus as subword ids in a folder of memory-mappable files.

Training text is cleaned: pairs with a side that is empty or too long, or with sides of too
different lengths, are dropped. dropped.tsv in the folder has the number of each one's line, from 1,
and the reason.
"""

import argparse
import logging

from nmt import command
from nmt.configuration import load_catalog, lookup
from nmt.data.writing import write_tokens
from nmt.files import atomic_write
from nmt.text.subwords import SubwordPair


def main(args: argparse.Namespace) -> None:
    """Encode the split, cleaned by the limits of its corpus or, first, of the vocabulary."""
    catalog = load_catalog(args.catalog)
    lookup(dict.fromkeys(catalog.corpus(args.corpus).split_names), args.split, "split")
    cleaning = catalog.cleaning(args.corpus, args.vocabulary)
    subwords = SubwordPair.load(args.subwords)
    with atomic_write(args.output) as temporary:
        limits = cleaning if args.split == "train" else None
        meta = write_tokens(temporary, subwords, args.source, args.target, limits, args.jobs)
    dropped = ", ".join(f"{count} {reason}" for reason, count in meta["dropped"].items())
    logging.info(f"{args.split}: {meta['sentences']} pairs, dropped: {dropped or 'none'}")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_catalog(parser)
    command.require(parser, "NAME", corpus="of corpora.yaml", vocabulary="of experiments")
    command.require(parser, "NAME", split="train is cleaned, others are not")
    command.require(parser, "FOLDER", subwords="made by learn_vocabulary.py", output="the tokens")
    command.require(parser, "FILE", source="normalized text", target="parallel to it")
    command.add_jobs(parser)
    command.run(main, parser)
