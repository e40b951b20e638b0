"""Extract one split of a corpus from its archives to two text files, one sentence per line."""

import argparse
from pathlib import Path

from nmt import command
from nmt.configuration import Corpus, load_catalog
from nmt.errors import UserError
from nmt.files import atomic_write
from nmt.progress import progress
from nmt.text.corpora import sentence_pairs


def main(args: argparse.Namespace) -> None:
    """Extract the split; an error also names the archives to delete once they are corrected."""
    corpus = load_catalog(args.catalog).corpus(args.corpus)
    try:
        extract(corpus, args)
    except UserError as error:
        archives = archives_of(corpus, args.split, args.archives)
        hint = ""
        if archives:
            hint = f" When the original is corrected, delete the copy: {', '.join(archives)}."
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


def archives_of(corpus: Corpus, split: str, folder: Path) -> list[str]:
    """Return the paths of a split's archives, without duplicates."""
    parts = corpus.splits.get(split, [])
    locators = [locator for part in parts for locator in (part.source, part.target)]
    archives = [locator.partition(":")[0] for locator in locators]
    return list(dict.fromkeys(str(folder / archive) for archive in archives))


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
