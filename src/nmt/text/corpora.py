"""Sentence pairs of a corpus, read from archives and files as the configuration says."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from nmt.configuration import Corpus, located, lookup
from nmt.errors import UserError
from nmt.provenance import REPOSITORY
from nmt.text.readers import pair_lines, read_sentences, segment_pairs

Pair = tuple[str, str]


def sentence_pairs(corpus: Corpus, split: str, archives: Path) -> Iterator[Pair]:
    """Yield the pairs of all parts of a split, one part after the other.

    Where splits are held out of the training text, that is read twice. archives: the folder of the
    downloads.

    Raises UserError for an unknown split, for missing or damaged files (see nmt.text.readers), and
    when there are fewer training pairs than are held out.
    """
    if corpus.generated:
        raise UserError(
            f"the corpus {corpus.title!r} is generated, not extracted: use generate.py."
        )
    lookup(dict.fromkeys(corpus.split_names), split, "split")
    pairs = all_pairs(corpus, split, archives)
    if split in corpus.held_out:
        waiting = held_out_keys(corpus, archives)[split]
        for pair in pairs:
            if key_of(pair) in waiting:
                waiting.remove(key_of(pair))  # a duplicate is not yielded again
                yield pair
    elif split == "train" and corpus.held_out:
        held_out = set().union(*held_out_keys(corpus, archives).values())
        yield from (pair for pair in pairs if key_of(pair) not in held_out)
    else:
        yield from pairs


def all_pairs(corpus: Corpus, split: str, archives: Path) -> Iterator[Pair]:
    """Yield the pairs of all parts that a split is read from."""
    for part in corpus.parts(split):
        places = [place(locator, archives) for locator in (part.source, part.target)]
        if part.format == "sgml":
            yield from segment_pairs(*places)
            continue
        source, target = (
            read_sentences(*where, part.format, column)
            for where, column in zip(places, part.columns, strict=True)
        )
        yield from pair_lines(source, target, part.source, part.target)


def place(locator: str, archives: Path) -> tuple[Path, str]:
    """Return the path of an archive or of a file of the user's own, and the member, "" for none."""
    name, member = located(locator)
    return (REPOSITORY if "/" in name else archives) / name, member


def held_out_keys(corpus: Corpus, archives: Path) -> dict[str, set[int]]:
    """Return the keys of the pairs of each split that is held out of the training text.

    They are the smallest of all keys, the first split's before the next one's: what is chosen
    depends on no order, and hardly changes when text is added. A pair with an empty side is never
    chosen.
    """
    pairs = all_pairs(corpus, "train", archives)
    keys = np.unique(np.fromiter((key_of(pair) for pair in pairs if all(pair)), dtype=np.uint64))
    needed = sum(corpus.held_out.values())
    if needed >= len(keys):
        raise UserError(
            f"held_out: {needed} pairs are to be held out, and train has {len(keys)} different ones"
            " with text on both sides: hold out fewer."
        )
    ends = np.cumsum(list(corpus.held_out.values()))
    chosen = np.split(keys[:needed], ends[:-1])
    return {split: set(part.tolist()) for split, part in zip(corpus.held_out, chosen, strict=True)}


def key_of(pair: Pair) -> int:
    """Return a checksum of a pair, the same for its duplicates, as random as a number drawn."""
    digest = hashlib.blake2b("\t".join(pair).encode(), digest_size=8).digest()
    return int.from_bytes(digest)
