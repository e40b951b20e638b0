"""A corpus as its configuration describes it: the sentence pairs of a split, out of its
archives.
"""

from collections.abc import Iterator
from pathlib import Path

from nmt.configuration import Corpus, Part, lookup
from nmt.errors import UserError
from nmt.text.readers import paired, read_sentences


def sentence_pairs(corpus: Corpus, split: str, archives: Path) -> Iterator[tuple[str, str]]:
    """The pairs of all parts of a split, one after the other; `archives` is the folder of the
    downloads.

    Raises UserError for an unknown split, and for what is wrong with the archives (see
    nmt.text.readers).
    """
    if corpus.generated:
        raise UserError(
            f"the corpus {corpus.title!r} is generated, not extracted: use generate.py."
        )
    for part in lookup(corpus.splits, split, "split"):
        yield from part_pairs(part, archives)


def part_pairs(part: Part, archives: Path) -> Iterator[tuple[str, str]]:
    sides = []
    for locator, column in zip((part.source, part.target), part.columns, strict=True):
        archive, _, member = locator.partition(":")
        sides.append(read_sentences(archives / archive, member, part.format, column))
    return paired(*sides, part.source, part.target)
