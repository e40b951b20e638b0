"""Generate the text of a corpus, the demo's say: sentence pairs from a grammar, not a benchmark.

The output is FOLDER/train.en, FOLDER/train.de and so on, one sentence per line; no sentence occurs
twice.
"""

import argparse
import logging

from nmt import command
from nmt.configuration import load_catalog, read_yaml
from nmt.errors import UserError
from nmt.files import write_lines
from nmt.provenance import REPOSITORY
from nmt.text.grammar import Grammar, generate


def main(args: argparse.Namespace) -> None:
    """Generate all splits."""
    corpus = load_catalog(args.catalog).corpus(args.corpus)
    made = corpus.generated
    if made is None:
        raise UserError(f"the corpus {args.corpus} is extracted, not generated: use extract.py.")
    data = read_yaml(REPOSITORY / made.grammar, dict)
    grammar = Grammar(data, made.grammar, corpus.source, corpus.target)
    for split, pairs in generate(grammar, made.sizes, made.seed).items():
        logging.info(f"{args.output}: {len(pairs)} generated pairs for {split}")
        for side, language in enumerate(grammar.languages):
            write_lines(args.output / f"{split}.{language}", (pair[side] for pair in pairs))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_catalog(parser)
    command.require(parser, "NAME", corpus="of corpora.yaml")
    command.require(parser, "FOLDER", output="where the files go")
    command.run(main, parser)
