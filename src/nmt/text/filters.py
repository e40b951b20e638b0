"""Filters that drop pairs of training text by name, with every dropped pair counted."""

import unicodedata
from collections.abc import Callable, Collection, Iterable
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import BinaryIO

import numpy as np

from nmt.configuration import Corpus
from nmt.files import read_lines
from nmt.progress import Progress
from nmt.text.chunks import Chunk, in_processes, read_pairs_of_chunks
from nmt.text.corpora import key_of

Paths = tuple[Path, Path]  # of the source and the target side
Filter = Callable[[str, str], bool]  # whether a pair is dropped

# As the names of characters in Unicode begin; other languages are written in Latin letters.
SCRIPTS = {
    "ar": ("ARABIC",),
    "bg": ("CYRILLIC",),
    "el": ("GREEK",),
    "fa": ("ARABIC",),
    "he": ("HEBREW",),
    "hi": ("DEVANAGARI",),
    "ja": ("CJK", "HIRAGANA", "KATAKANA"),
    "ko": ("HANGUL", "CJK"),
    "ru": ("CYRILLIC",),
    "uk": ("CYRILLIC",),
    "zh": ("CJK",),
}


def clean(corpus: Corpus, text: Paths, tests: list[Paths], files: Paths, jobs: int) -> dict:
    """Write the pairs that pass the corpus's filters to two open files, and return the counts.

    tests: dev and test sets. The text is read twice: duplicates are known at its end only. That
    takes some 55 bytes of memory a pair. `jobs` processes filter.

    Returns the counts of `raw` and `kept` pairs, and those `dropped` by the name of the first
    filter that drops them. Raises UserError when the sides' line counts differ.
    """
    names = corpus.cleaning.filters
    chunks = read_pairs_of_chunks(*text)
    filtered = in_processes(ChunkFilter, (corpus, tests), chunks, jobs)
    parts = []
    with Progress("filter", None, "pairs") as progress, closing(filtered):
        for part in filtered:
            parts.append(part)
            progress.update(len(part[0]))
    reasons, keys = map(np.concatenate, zip(*parts, strict=True)) if parts else 2 * [np.array([])]
    passed = np.flatnonzero(reasons == len(names))
    if "duplicates" in names:
        firsts = np.unique(keys[passed], return_index=True)[1]
        repeated = np.delete(passed, firsts)
        reasons[repeated] = names.index("duplicates")
        passed = passed[np.sort(firsts)]
    with open(files[0], "wb") as source, open(files[1], "wb") as target:
        write_pairs(text, reasons == len(names), (source, target))
    dropped = {name: int(np.count_nonzero(reasons == i)) for i, name in enumerate(names)}
    return {"raw": len(reasons), "kept": len(passed), "dropped": dropped}


def write_pairs(text: Paths, keep: np.ndarray, files: tuple[BinaryIO, BinaryIO]) -> None:
    """Write the pairs for which `keep`, (n,), is true."""
    for chunks in read_pairs_of_chunks(*text):
        kept = keep[chunks[0].first - 1 :]
        for chunk, file in zip(chunks, files, strict=True):
            lines = chunk.lines()
            file.writelines(
                f"{line}\n".encode() for line, is_kept in zip(lines, kept, strict=False) if is_kept
            )


class ChunkFilter:
    """Filters chunks of a corpus's training text; duplicates are left to who has seen all."""

    def __init__(self, corpus: Corpus, tests: Iterable[Paths]):
        self.names = corpus.cleaning.filters
        held_out = [sentences(paths[side] for paths in tests) for side in (0, 1)]
        filters: dict[str, Filter] = {
            "non_printing": lambda source, target: has_non_printing(source + target),
            "identical": lambda source, target: source == target,
            "script": lambda source, target: (
                in_wrong_script(source, corpus.source) or in_wrong_script(target, corpus.target)
            ),
            "overlap": lambda source, target: (
                form(source) in held_out[0] or form(target) in held_out[1]
            ),
            "duplicates": lambda source, target: False,
        }
        self.filters = [filters[name] for name in self.names]

    def __call__(self, chunks: tuple[Chunk, Chunk]) -> tuple[np.ndarray, np.ndarray]:
        """Return of each pair the number of the first filter that drops it, and its key.

        The number is that of filters where none drops it. Raises UserError when the text is not
        UTF-8.
        """
        pairs = list(zip(chunks[0].lines(), chunks[1].lines(), strict=True))
        reasons = np.array([self.reason(*pair) for pair in pairs], np.uint8)
        keyed = "duplicates" in self.names
        return reasons, np.array([key_of(pair) if keyed else 0 for pair in pairs], np.uint64)

    def reason(self, source: str, target: str) -> int:
        """Return the number of the first filter that drops a pair."""
        for number, drops in enumerate(self.filters):
            if drops(source, target):
                return number
        return len(self.filters)


def has_non_printing(text: str) -> bool:
    """Return whether a text has control, format, private or unassigned characters."""
    return not text.isprintable() and not all(c.isprintable() or c.isspace() for c in text)


def in_wrong_script(text: str, language: str) -> bool:
    """Return whether more than half of a text's letters are of another script than the language.

    Text without letters is in no script.
    """
    scripts = SCRIPTS.get(language, ("LATIN",))
    letters = [character for character in text if character.isalpha()]
    return 2 * sum(script_of(letter) in scripts for letter in letters) < len(letters)


@cache
def script_of(character: str) -> str:
    """Return the first word of a character's name in Unicode, such as LATIN."""
    return unicodedata.name(character, "NONE").partition(" ")[0]


def sentences(paths: Iterable[Path]) -> Collection[str]:
    """Return the forms of all lines of dev and test sets."""
    return {form(line) for path in paths for line in read_lines(path)} - {""}


def form(line: str) -> str:
    """Return a line as it is compared: in lower case, with one space between words."""
    return " ".join(line.lower().split())
