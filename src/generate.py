"""Generate the demo corpus: sentence pairs from a grammar, not a benchmark.

The output is FOLDER/train.en, FOLDER/train.de and so on, one sentence per line; no sentence occurs
twice.
"""

import argparse
import logging

from nmt import command
from nmt.configuration import MOST_SEED
from nmt.files import write_lines
from nmt.text.grammar import Grammar, generate

SPLITS = ("train", "dev", "test")


def main(args: argparse.Namespace) -> None:
    """Generate all splits for which a size is given."""
    grammar = Grammar.load(args.grammar, args.source_language, args.target_language)
    sizes = {split: getattr(args, split) for split in SPLITS if getattr(args, split)}
    for split, pairs in generate(grammar, sizes, args.seed).items():
        logging.info(f"{args.output}: {len(pairs)} generated pairs for {split}")
        for side, language in enumerate(grammar.languages):
            write_lines(args.output / f"{split}.{language}", (pair[side] for pair in pairs))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FILE", grammar="YAML with words, tables and rules")
    parser.add_argument("--source-language", default="en", help="default: %(default)s")
    parser.add_argument("--target-language", default="de", help="default: %(default)s")
    seed = command.whole_number(0, MOST_SEED)
    parser.add_argument("--seed", type=seed, required=True, help="the same gives the same text")
    for split in SPLITS:
        parser.add_argument(
            f"--{split}",
            type=command.whole_number(1),
            required=split != "test",
            metavar="N",
            help=f"number of pairs in the {split} split",
        )
    command.require(parser, "FOLDER", output="where the files go")
    command.run(main, parser)
