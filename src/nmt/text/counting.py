"""Characters and words of large text, counted by several processes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np

from nmt.files import read_lines
from nmt.progress import Progress, progress
from nmt.text.chunks import Chunk, in_processes, read_chunks


def count_characters(inputs: Iterable[Path], jobs: int) -> tuple[Counter[str], int]:
    """Return how often each character except the space occurs in all files, and their lines."""
    counts: Counter[str] = Counter()
    total = 0
    for characters, lines in counted("count the characters", CharacterCounter, (), inputs, jobs):
        counts.update(characters)
        total += lines
    del counts[" "]
    return counts, total


def count_words(inputs: Iterable[Path], step: int, jobs: int) -> Counter[str]:
    """Return how often each word occurs in every `step`-th line of each file."""
    counts: Counter[str] = Counter()
    for words, _ in counted("count the words", WordCounter, (step,), inputs, jobs):
        counts.update(words)
    del counts[""]
    return counts


def sampled_lines(inputs: Iterable[Path], step: int) -> Iterator[str]:
    """Yield every `step`-th line of each file, showing progress."""
    lines = chain.from_iterable(islice(read_lines(path), 0, None, step) for path in inputs)
    return progress(lines, "learn the vocabulary from", None, "lines")


def counted(
    description: str, make: Any, arguments: tuple, inputs: Iterable[Path], jobs: int
) -> Iterator[tuple[dict[str, int], int]]:
    """Yield the counts of each chunk of the files and its number of lines, showing progress."""
    chunks = chain.from_iterable(map(read_chunks, inputs))
    with (
        Progress(description, None, "lines") as shown,
        closing(in_processes(make, arguments, chunks, jobs)) as results,
    ):
        for counts, lines in results:
            shown.update(lines)
            yield counts, lines


class CharacterCounter:
    """Counts the characters of a chunk."""

    def __call__(self, chunk: Chunk) -> tuple[dict[str, int], int]:
        """Return the counts of all characters, and the number of lines."""
        lines = chunk.lines()
        codes = np.frombuffer("".join(lines).encode("utf-32-le"), np.uint32)
        counts = np.bincount(codes)
        occurring = np.flatnonzero(counts)
        characters = map(chr, occurring.tolist())
        return dict(zip(characters, counts[occurring].tolist(), strict=True)), len(lines)


class WordCounter:
    """Counts the words of every `step`-th line of a file, chunk by chunk."""

    def __init__(self, step: int):
        self.step = step

    def __call__(self, chunk: Chunk) -> tuple[dict[str, int], int]:
        """Return the counts of words, "" among them, and the number of lines."""
        lines = chunk.lines()
        begin = -(chunk.first - 1) % self.step
        return Counter(" ".join(lines[begin :: self.step]).split(" ")), len(lines)
