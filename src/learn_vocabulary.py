"""Learn subwords from normalized training text, of both languages together or of each separately.

The output is FOLDER/source.model and FOLDER/target.model, which are the same when both languages
are learned together, and FOLDER/SHA256SUMS.
"""

import argparse

from nmt import command
from nmt.configuration import load_catalog
from nmt.files import atomic_write
from nmt.text.subwords import learn_pair, subwords_of, write_subwords


def main(args: argparse.Namespace) -> None:
    """Learn the subwords and write them."""
    vocabulary = load_catalog(args.catalog).vocabulary(args.vocabulary)
    if args.model:
        models = subwords_of(args.model, vocabulary)
    else:
        models = learn_pair(vocabulary, args.source, args.target, args.jobs)
    with atomic_write(args.output) as temporary:
        temporary.mkdir()
        write_subwords(temporary, models)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_catalog(parser)
    command.require(parser, "NAME", vocabulary="of experiments")
    command.require(parser, "FILE", source="normalized text", target="parallel to it")
    command.offer(parser, "FOLDER", model="whose are taken")
    command.require(parser, "FOLDER", output="the subwords")
    command.add_jobs(parser)
    command.run(main, parser)
