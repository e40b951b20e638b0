"""Sentence pairs of a corpus, read from its archives as the configuration says."""

from collections.abc import Iterator
from pathlib import Path

from nmt.configuration import Corpus, Part, lookup
from nmt.errors import UserError
from nmt.text.readers import pair_lines, read_sentences


def sentence_pairs(corpus: Corpus, split: str, archives: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of all parts of a split, one part after the other.

    archives: the folder of the downloads.

    Raises UserError for an unknown split, and for missing or damaged archives (see
    nmt.text.readers).
    """
    if corpus.generated:
        raise UserError(
            f"the corpus {corpus.title!r} is generated, not extracted: use generate.py."
        )
    for part in lookup(corpus.splits, split, "split"):
        yield from part_pairs(part, archives)


def part_pairs(part: Part, archives: Path) -> Iterator[tuple[str, str]]:
    """Yield the pairs of one part of a split."""
    sides = []
    for locator, column in zip((part.source, part.target), part.columns, strict=True):
        archive, _, member = locator.partition(":")
        sides.append(read_sentences(archives / archive, member, part.format, column))
    source, target = sides
    return pair_lines(source, target, part.source, part.target)
