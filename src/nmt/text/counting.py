"""Words and characters of large text, counted by several processes.

BPE learned from counted words is the same as from lines, in 21 s instead of 765 s for a million
pairs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice
from pathlib import Path

import numpy as np

from nmt.files import read_lines
from nmt.progress import Progress, progress
from nmt.text.chunks import in_processes


def count_lines(inputs: Iterable[Path]) -> int:
    """Return the number of lines of all files."""
    return sum(1 for path in inputs for _ in read_lines(path))


def sampled_lines(inputs: Iterable[Path], step: int) -> Iterator[str]:
    """Yield every `step`-th line of each file, showing progress."""
    lines = chain.from_iterable(islice(read_lines(path), 0, None, step) for path in inputs)
    return progress(lines, "learn the vocabulary from", None, "lines")


def count_words(inputs: Sequence[Path], step: int, jobs: int) -> Counter[str]:
    """Return how often each word occurs in every `step`-th line of each file."""
    counts: Counter[str] = Counter()
    with Progress("count the words", jobs, "parts") as shown:
        for words in in_processes(WordCounter, (inputs, step, jobs), range(jobs), jobs):
            counts.update(words)
            shown.update()
    del counts[""]
    return counts


def count_characters(words: Counter[str]) -> dict[str, int]:
    """Return how often each character occurs in counted words."""
    codes = np.frombuffer("".join(words).encode("utf-32-le"), np.uint32)
    of_words = np.fromiter(words.values(), np.int64, len(words))
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    counts = np.bincount(codes, np.repeat(of_words, lengths))
    return {chr(code): int(counts[code]) for code in np.flatnonzero(counts)}


class WordCounter:
    """Counts the words of every `step`-th line of files, of which each job has an equal share.

    A job counts all its lines before it returns: the words of single chunks are together many times
    as many as those of all, and the main process would be busy with adding them up.
    """

    def __init__(self, inputs: Sequence[Path], step: int, jobs: int):
        self.inputs = inputs
        self.step = step
        self.jobs = jobs

    def __call__(self, job: int) -> Counter[str]:
        """Return the counts of words, "" perhaps among them, in one job's lines."""
        counts: Counter[str] = Counter()
        for path in self.inputs:
            lines = islice(read_lines(path), job * self.step, None, self.jobs * self.step)
            counts.update(chain.from_iterable(line.split(" ") for line in lines))
        return counts
