"""Writes the demo corpus: sentence pairs that a grammar generates. It is generated text, not a
benchmark.

The output is FOLDER/train.en, FOLDER/train.de and so on, one sentence a line; no sentence comes
twice.
"""

import argparse
import logging
from pathlib import Path

from nmt.command import arguments, run, whole_number
from nmt.configuration import MOST_SEED
from nmt.files import write_lines
from nmt.text.grammar import Grammar, generate

SPLITS = ("train", "dev", "test")


def main(args: argparse.Namespace) -> None:
    grammar = Grammar.load(args.grammar, args.source_language, args.target_language)
    sizes = {split: getattr(args, split) for split in SPLITS}
    corpus = generate(grammar, {split: size for split, size in sizes.items() if size}, args.seed)
    for split, pairs in corpus.items():
        logging.info(f"{args.output}: {len(pairs)} generated pairs for {split}")
        for side, language in enumerate(grammar.languages):
            write_lines(args.output / f"{split}.{language}", (pair[side] for pair in pairs))


if __name__ == "__main__":
    parser = arguments("Generate sentence pairs from a grammar: generated text, not a benchmark.")
    parser.add_argument(
        "--grammar", type=Path, required=True, help="YAML file with words, tables and rules"
    )
    parser.add_argument("--source-language", default="en", help="default: %(default)s")
    parser.add_argument("--target-language", default="de", help="default: %(default)s")
    parser.add_argument(
        "--seed",
        type=whole_number(0, MOST_SEED),
        required=True,
        help="the same seed gives the same text",
    )
    for split in SPLITS:
        parser.add_argument(
            f"--{split}", type=whole_number(1), required=split != "test", metavar="N"
        )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FOLDER", help="where the files go"
    )
    run(main, parser)
