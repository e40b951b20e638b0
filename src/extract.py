"""Extracts one split of a corpus from its archives to two files of raw text, one sentence a
line.
"""

from argparse import Namespace
from collections.abc import Iterable
from pathlib import Path

from nmt.command import arguments, run
from nmt.configuration import load_catalog
from nmt.errors import UserError
from nmt.files import written_whole
from nmt.progress import progress
from nmt.text.corpora import sentence_pairs


def main(args: Namespace) -> None:
    corpus = load_catalog(args.catalog).corpus(args.corpus)
    try:
        extract(sentence_pairs(corpus, args.split, args.archives), args)
    except UserError as error:
        locators = (
            locator
            for part in corpus.splits.get(args.split, [])
            for locator in (part.source, part.target)
        )
        archives = dict.fromkeys(
            str(args.archives / locator.partition(":")[0]) for locator in locators
        )
        hint = (
            f" When the original is corrected, delete the copy: {', '.join(archives)}."
            if archives
            else ""
        )
        raise UserError(f"{error}{hint}") from None


def extract(pairs: Iterable[tuple[str, str]], args: Namespace) -> None:
    with (
        written_whole(args.source) as source_path,
        written_whole(args.target) as target_path,
        open(source_path, "w", encoding="utf-8", newline="") as source_file,
        open(target_path, "w", encoding="utf-8", newline="") as target_file,
    ):
        for source, target in progress(pairs, f"extract {args.split}", None, "pairs"):
            source_file.write(source + "\n")
            target_file.write(target + "\n")


if __name__ == "__main__":
    parser = arguments(__doc__)
    parser.add_argument("--catalog", type=Path, required=True, help="the folder of corpora.yaml")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--split", required=True)
    parser.add_argument("--archives", type=Path, required=True, help="the folder of the downloads")
    parser.add_argument(
        "--source", type=Path, required=True, help="the file to write the source sentences to"
    )
    parser.add_argument(
        "--target", type=Path, required=True, help="the file to write the target sentences to"
    )
    run(main, parser)
