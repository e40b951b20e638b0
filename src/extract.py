"""Extract one split of a corpus from archives or files to two text files, a sentence a line.

Splits that are held out of the training text are chosen here, and left out of it.
"""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration import Corpus, load_catalog
from nmt.errors import UserError
from nmt.files import atomic_write
from nmt.progress import progress
from nmt.text.corpora import sentence_pairs


def main(args: argparse.Namespace) -> None:
    """Extract the split; an error also names the downloads that may be at fault."""
    if args.source.resolve() == args.target.resolve():
        raise UserError(f"--source and --target are both {args.source}: name two files.")
    corpus = load_catalog(args.catalog).corpus(args.corpus)
    try:
        extract(corpus, args)
    except UserError as error:
        hint = ""
        is_extracted = args.split in corpus.splits | corpus.held_out
        archives = corpus.archives_of(args.split) if is_extracted else []
        paths = [args.archives / archive for archive in archives]
        if paths and all(path.exists() for path in paths):
            listed = ", ".join(map(str, paths))
            hint = f" If a download is at fault, delete it, and snakemake makes it again: {listed}."
        raise UserError(f"{error}{hint}") from None


def extract(corpus: Corpus, args: argparse.Namespace) -> None:
    """Write both sides of the split."""
    pairs = sentence_pairs(corpus, args.split, args.archives)
    with (
        atomic_write(args.source) as source_path,
        atomic_write(args.target) as target_path,
        open(source_path, "w", encoding="utf-8", newline="") as source_file,
        open(target_path, "w", encoding="utf-8", newline="") as target_file,
    ):
        for source, target in progress(pairs, f"extract {args.split}", None, "pairs"):
            source_file.write(source + "\n")
            target_file.write(target + "\n")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--catalog", type=Path, required=True, help="the folder of corpora.yaml")
    parser.add_argument("--corpus", required=True, help="an entry of corpora.yaml")
    parser.add_argument("--split", required=True, help="a split of the corpus")
    parser.add_argument("--archives", type=Path, required=True, help="the folder of the downloads")
    parser.add_argument(
        "--source", type=Path, required=True, help="the file to write the source sentences to"
    )
    parser.add_argument(
        "--target", type=Path, required=True, help="the file to write the target sentences to"
    )
    command.run(main, parser)
