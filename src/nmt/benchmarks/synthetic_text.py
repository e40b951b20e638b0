"""Parallel text of the shape of WMT's, made for measuring: its words mean nothing.

Lengths are near those of newstest, word frequencies follow Zipf's law, and the punctuation has what
normalization looks for. Every thousandth pair has a number of its own in both sides, and no other
pair has a digit, so that it can be seen whether pairs are still together.
"""

import tarfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

MEAN_WORDS, SIGMA = 22, 0.6  # of newstest2014: near a log-normal distribution
TYPES = 1_000_000  # different words
PAIRS_AT_A_TIME = 50_000
PAIRS_PER_MARKER = 1000
CONSONANTS, VOWELS = "bdfghklmnprstvwz", "aeiou"
FRAMES = {"en": ("{}.",) * 12 + ("“{}”", "{} – so;", "({})."), "de": ("{}.",) * 12 + ("„{}“",) * 3}


def word(rank: int) -> str:
    """Return the word of a rank: the more frequent, the shorter."""
    letters: list[str] = []
    while rank or not letters:
        rank, digit = divmod(rank, len(CONSONANTS) * len(VOWELS))
        letters.append(CONSONANTS[digit % len(CONSONANTS)] + VOWELS[digit // len(CONSONANTS)])
    return "".join(letters)


def lines(words: list[str], language: str, lengths: np.ndarray, seed: list[int]) -> list[str]:
    """Return one line of text for each length in words."""
    rng = np.random.default_rng(seed)
    ranks = np.exp(rng.random(lengths.sum()) * np.log(len(words))).astype(np.int64) - 1
    text = list(map(words.__getitem__, ranks.tolist()))
    ends = np.cumsum(lengths).tolist()
    frames = FRAMES[language]
    made = []
    for begin, end, frame in zip(
        [0, *ends], ends, rng.integers(len(frames), size=len(ends)), strict=False
    ):
        made.append(frames[frame].format(" ".join(text[begin:end]).capitalize()))
    return made


def pairs(count: int, languages: tuple[str, str]) -> Iterator[tuple[list[str], list[str]]]:
    """Yield both sides of so many pairs, some at a time."""
    words = [word(rank) for rank in range(TYPES)]
    for start in range(0, count, PAIRS_AT_A_TIME):
        size = min(PAIRS_AT_A_TIME, count - start)
        rng = np.random.default_rng([1, start])
        common = rng.normal(np.log(MEAN_WORDS) - SIGMA**2 / 2, SIGMA, size)
        sides = []
        for number, language in enumerate(languages):
            lengths = np.exp(common + rng.normal(0, 0.12, size)).astype(np.int64).clip(1, 120)
            side = lines(words, language, lengths, [2, start, number])
            for i in range(-start % PAIRS_PER_MARKER, size, PAIRS_PER_MARKER):
                side[i] = f"{side[i]} {start + i + 1:08d}"
            sides.append(side)
        yield sides[0], sides[1]


def write_archive(path: Path, count: int, languages: tuple[str, str]) -> None:
    """Write a .tgz with the members text.<language>."""
    folder = path.parent
    files = [folder / f"text.{language}" for language in languages]
    with (
        open(files[0], "w", encoding="utf-8") as source,
        open(files[1], "w", encoding="utf-8") as target,
    ):
        for source_lines, target_lines in pairs(count, languages):
            source.writelines(f"{line}\n" for line in source_lines)
            target.writelines(f"{line}\n" for line in target_lines)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for file in files:
            archive.add(file, file.name)
            file.unlink()
