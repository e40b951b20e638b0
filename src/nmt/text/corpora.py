"""Sentence pairs of a corpus, read from archives and files as the configuration says."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from nmt.configuration import Corpus, Part, is_own_file, lookup
from nmt.errors import UserError
from nmt.files import temporary_folder
from nmt.provenance import REPOSITORY
from nmt.text.readers import COMPRESSED_TARS, pair_lines, read_sentences, unpack

Pair = tuple[str, str]


class Place(NamedTuple):
    """A file, or a member of an archive ("" for none), and its name in messages."""

    path: Path
    member: str
    name: str


def sentence_pairs(corpus: Corpus, split: str, archives: Path) -> Iterator[Pair]:
    """Yield the pairs of all parts of a split, one part after the other.

    Compressed archives are unpacked beside the downloads for the while, in one pass each. Where
    splits are held out of the training text, that is read twice. archives: the folder of the
    downloads.

    Raises UserError for an unknown split, for missing or damaged files (see nmt.text.readers), and
    when there are fewer training pairs than are held out.
    """
    if corpus.generated:
        raise UserError(
            f"the corpus {corpus.title!r} is generated, not extracted: use generate.py."
        )
    lookup(dict.fromkeys(corpus.split_names), split, "split")
    parts = corpus.parts(split)
    with unpacked(parts, archives) as places:
        if split in corpus.held_out:
            waiting = held_out_keys(corpus, places)[split]
            for pair in all_pairs(parts, places):
                if key_of(pair) in waiting:
                    waiting.remove(key_of(pair))  # a duplicate is not yielded again
                    yield pair
        elif split == "train" and corpus.held_out:
            held_out = set().union(*held_out_keys(corpus, places).values())
            for pair in all_pairs(parts, places):
                if key_of(pair) not in held_out:
                    yield pair
        else:
            yield from all_pairs(parts, places)


@contextmanager
def unpacked(parts: Iterable[Part], archives: Path) -> Iterator[dict[str, Place]]:
    """Yield where each location of the parts is read, by location."""
    locators = dict.fromkeys(side for part in parts for side in (part.source, part.target))
    places = {}
    members: dict[Path, dict[str, str]] = {}  # of compressed archives, with their locations
    for locator in locators:
        name, _, member = locator.partition(":")
        path = path_of(name, archives)
        places[locator] = Place(path, member, f"{path}:{member}" if member else str(path))
        if member and path.name.endswith(COMPRESSED_TARS):
            members.setdefault(path, {})[member] = locator
    with ExitStack() as stack:
        for path, wanted in members.items():
            if len(wanted) > 1 and path.is_file():
                folder = stack.enter_context(temporary_folder(path.parent, f"{path.name}.unpacked"))
                for member, copy in unpack(path, wanted, folder).items():
                    locator = wanted[member]
                    places[locator] = Place(copy, "", places[locator].name)
        yield places


def all_pairs(parts: Iterable[Part], places: dict[str, Place]) -> Iterator[Pair]:
    """Yield the pairs of all parts."""
    for part in parts:
        sides = []
        for locator, column in zip((part.source, part.target), part.columns, strict=True):
            place = places[locator]
            sides.append(read_sentences(place.path, place.member, part.format, column, place.name))
        source, target = sides
        yield from pair_lines(source, target, part.source, part.target)


def path_of(name: str, archives: Path) -> Path:
    """Return the path of an archive, or of a file of the user's own."""
    return REPOSITORY / name if is_own_file(name) else archives / name


def held_out_keys(corpus: Corpus, places: dict[str, Place]) -> dict[str, set[int]]:
    """Return the keys of the pairs of each split that is held out of the training text.

    They are the smallest of all keys, the first split's before the next one's: what is chosen
    depends on no order, and hardly changes when text is added. A pair with an empty side is never
    chosen.
    """
    pairs = all_pairs(corpus.splits["train"], places)
    keys = np.unique(np.fromiter((key_of(pair) for pair in pairs if all(pair)), dtype=np.uint64))
    needed = sum(corpus.held_out.values())
    if needed >= len(keys):
        raise UserError(
            f"held_out: {needed} pairs are to be held out, and train has {len(keys)} different ones"
            " with text on both sides: hold out fewer."
        )
    chosen = {}
    start = 0
    for split, size in corpus.held_out.items():
        chosen[split] = set(keys[start : start + size].tolist())
        start += size
    return chosen


def key_of(pair: Pair) -> int:
    """Return a checksum of a pair, the same for its duplicates, as random as a number drawn."""
    digest = hashlib.blake2b("\t".join(pair).encode(), digest_size=8).digest()
    return int.from_bytes(digest)
