"""Encodes one split of a corpus as subword ids, in a folder of memory-mappable files; cleans it for
training.
"""

import logging
from argparse import Namespace
from pathlib import Path

from nmt.command import arguments, run, whole_number
from nmt.configuration import load_catalog, lookup
from nmt.data.tokens import write_tokens
from nmt.files import written_whole
from nmt.text.subwords import SubwordPair


def main(args: Namespace) -> None:
    catalog = load_catalog(args.catalog)
    corpus, vocabulary = catalog.corpus(args.corpus), catalog.vocabulary(args.vocabulary)
    lookup(dict.fromkeys(corpus.split_names), args.split, "split")
    own = {"max_length": vocabulary.max_length or corpus.cleaning.max_length}
    cleaning = corpus.cleaning.model_copy(update=own) if args.split == "train" else None
    subwords = SubwordPair.load(args.subwords)
    with written_whole(args.output) as beside:
        meta = write_tokens(beside, subwords, args.source, args.target, cleaning, args.jobs)
    logging.info(f"{args.split}: {meta['sentences']} pairs, dropped {meta['dropped']}")


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument(
        "--catalog",
        type=Path,
        required=True,
        help="the folder of corpora.yaml and experiments.yaml",
    )
    parser.add_argument("--corpus", required=True)
    parser.add_argument(
        "--vocabulary", required=True, metavar="NAME", help="an entry of experiments.yaml"
    )
    parser.add_argument(
        "--subwords", type=Path, required=True, metavar="FOLDER", help="made by learn_vocabulary.py"
    )
    parser.add_argument("--split", required=True, help="train is cleaned, others are not")
    parser.add_argument("--source", type=Path, required=True, help="normalized source text")
    parser.add_argument("--target", type=Path, required=True, help="normalized target text")
    parser.add_argument("--output", type=Path, required=True, help="the folder to write")
    parser.add_argument(
        "--jobs", type=whole_number(1), default=1, help="threads (default: %(default)s)"
    )
    run(main, parser)
