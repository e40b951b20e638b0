"""Characters and words of large text, counted by several processes."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain, islice
from pathlib import Path

import numpy as np

from nmt.files import read_lines
from nmt.progress import Progress, progress
from nmt.text.chunks import Chunk, in_processes, read_chunks


def count_characters(inputs: Iterable[Path], jobs: int) -> tuple[Counter[str], int]:
    """Return how often each character except the space occurs in all files, and their lines."""
    counts: Counter[str] = Counter()
    chunks = chain.from_iterable(map(read_chunks, inputs))
    with (
        Progress("count the characters", None, "lines") as shown,
        closing(in_processes(CharacterCounter, (), chunks, jobs)) as results,
    ):
        for characters, lines in results:
            shown.update(lines)
            counts.update(characters)
    del counts[" "]
    return counts, shown.completed


def count_words(inputs: Iterable[Path], step: int, jobs: int) -> Counter[str]:
    """Return how often each word occurs in every `step`-th line of each file."""
    counts: Counter[str] = Counter()
    counter = (tuple(inputs), step, jobs)
    with closing(in_processes(WordCounter, counter, range(jobs), jobs)) as results:
        for words in results:
            counts.update(words)
    del counts[""]
    return counts


def sampled_lines(inputs: Iterable[Path], step: int) -> Iterator[str]:
    """Yield every `step`-th line of each file, showing progress."""
    lines = chain.from_iterable(islice(read_lines(path), 0, None, step) for path in inputs)
    return progress(lines, "learn the vocabulary from", None, "lines")


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
    """Counts the words of every `step`-th line of files, in every `jobs`-th chunk of lines.

    A process counts all its chunks before it returns: the words of single chunks are together many
    times as many as those of all, and the main process would be busy with adding them up.
    """

    def __init__(self, inputs: Iterable[Path], step: int, jobs: int):
        self.inputs = inputs
        self.step = step
        self.jobs = jobs

    def __call__(self, job: int) -> Counter[str]:
        """Return the counts of words, "" perhaps among them, in one job's chunks."""
        counts: Counter[str] = Counter()
        for path in self.inputs:
            for chunk in islice(read_chunks(path), job, None, self.jobs):
                begin = -(chunk.first - 1) % self.step
                counts.update(" ".join(chunk.lines()[begin :: self.step]).split(" "))
        return counts
