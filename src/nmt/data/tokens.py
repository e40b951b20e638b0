"""Parallel text as subword ids, in memory-mapped .npy files that are never read whole."""

import hashlib
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from nmt.configuration import Cleaning
from nmt.data.encoding import REASONS, encode_pairs
from nmt.data.writing import RaggedWriter
from nmt.errors import UserError
from nmt.files import read_json, read_lines, write_json
from nmt.progress import Progress
from nmt.text.chunks import chunked, in_processes
from nmt.text.readers import pair_lines
from nmt.text.subwords import SubwordPair

ARRAYS = ("source", "source_offsets", "target", "target_offsets")
REMEDY = "delete {folder} and run snakemake, or binarize.py, which make it again"


class Ragged:
    """Sequences of different lengths, concatenated.

    Sequence i is tokens[offsets[i]:offsets[i + 1]].
    """

    def __init__(self, tokens: np.ndarray, offsets: np.ndarray):
        self.tokens = tokens
        self.offsets = offsets

    @property
    def lengths(self) -> np.ndarray:
        """Subwords in each sequence, (n,), made anew for every caller."""
        return np.diff(self.offsets)

    def lengths_of(self, indices: np.ndarray) -> np.ndarray:
        """Return the number of subwords in each of these sequences."""
        return self.offsets[indices + 1] - self.offsets[indices]

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def lists(self) -> list[list[int]]:
        """Return the ids of every sequence."""
        return [self[index].tolist() for index in range(len(self))]

    def __getitem__(self, index: int) -> np.ndarray:
        """Return the ids of one sequence, without begin and end symbols, (length,)."""
        if not 0 <= index < len(self):
            raise IndexError(f"sequence {index} of {len(self)}")
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class ParallelTokens:
    """Sentence pairs as ids.

    meta: counts, and a `fingerprint` of the contents, as `write_tokens` wrote them.
    """

    source: Ragged
    target: Ragged
    meta: dict

    @classmethod
    def load(cls, folder: str | Path, check: bool = True) -> "ParallelTokens":
        """Map the files of a folder into memory.

        check: read them once to see that they are whole, at some 1.5 GB a second. Raises UserError
        when the folder is missing, or files in it are missing or damaged.
        """
        folder = Path(folder)
        remedy = REMEDY.format(folder=folder)
        keys = ("sentences", "vocabulary_sizes", "vocabularies", "fingerprint")
        meta = read_json(folder / "meta.json", keys, remedy)
        try:
            if check and meta["fingerprint"] != fingerprint(folder):
                raise UserError(f"{folder} is damaged (its checksum is another): {remedy}.")
            arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
        except FileNotFoundError as error:
            raise UserError(f"{error.filename} is not there: {remedy}.") from None
        source = Ragged(arrays["source"], arrays["source_offsets"])
        target = Ragged(arrays["target"], arrays["target_offsets"])
        if not len(source) == len(target) == meta["sentences"]:
            raise UserError(f"{folder} is damaged (meta.json is not of its files): {remedy}.")
        return cls(source, target, meta)

    def require_vocabulary(self, subwords: SubwordPair, folder: Path) -> None:
        """Raise UserError when the folder was made with other vocabularies than these."""
        if self.meta["vocabularies"] != subwords.checksums:
            raise UserError(
                f"{folder} was made with other vocabularies, of {self.meta['vocabulary_sizes']}"
                " subwords: binarize again with these."
            )

    @property
    def fingerprint(self) -> str:
        """A SHA-256 of the contents."""
        return self.meta["fingerprint"]

    def __len__(self) -> int:
        return len(self.source)


def sentence_lengths(folder: Path, side: str) -> np.ndarray:
    """Return the subwords in each sentence of a side, (n,), from its offsets alone.

    Raises UserError when the file is missing or damaged.
    """
    path = folder / f"{side}_offsets.npy"
    try:
        return np.diff(np.load(path))
    except (OSError, ValueError, EOFError) as error:
        raise UserError(
            f"{path} cannot be read ({error}): {REMEDY.format(folder=folder)}."
        ) from None


def write_tokens(
    folder: Path,
    subwords: SubwordPair,
    source: Path,
    target: Path,
    cleaning: Cleaning | None,
    jobs: int,
) -> dict:
    """Encode two parallel text files into a new folder; return what is written to its meta.json.

    With `cleaning`, as for training, pairs with an empty side, a side longer than `max_length`
    subwords, or sides of a ratio over `max_ratio` are dropped and counted; without it every pair
    stays. `jobs` processes encode; memory use does not grow with the text.

    Raises UserError when the files' line counts differ, or no pair is left.
    """
    folder.mkdir()
    dropped = dict.fromkeys(REASONS, 0) if cleaning else {}
    lines = pair_lines(read_lines(source), read_lines(target), str(source), str(target))
    encoded = in_processes(partial, (encode_pairs, subwords, cleaning), chunked(lines), jobs)
    with (
        closing(RaggedWriter(folder, "source", subwords.source.size)) as source_writer,
        closing(RaggedWriter(folder, "target", subwords.target.size)) as target_writer,
        Progress("binarize", None, "pairs") as progress,
    ):
        for pairs in encoded:
            source_writer.extend(pairs.source)
            target_writer.extend(pairs.target)
            for reason, count in pairs.dropped.items():
                dropped[reason] += count
            progress.update(pairs.count)
    if not source_writer.sequences:
        reasons = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        after_cleaning = f" after cleaning (dropped: {reasons})" if dropped else ""
        raise UserError(
            f"no sentence pair is left of {source} and {target}{after_cleaning}: check the files"
            " and `cleaning`."
        )
    meta = {
        "sentences": source_writer.sequences,
        "source_tokens": source_writer.end,
        "source_unknown": source_writer.unknown,
        "target_tokens": target_writer.end,
        "target_unknown": target_writer.unknown,
        "dropped": dropped,
        "vocabulary_sizes": [subwords.source.size, subwords.target.size],
        "vocabularies": subwords.checksums,
        "fingerprint": fingerprint(folder),
    }
    write_json(folder / "meta.json", meta)
    return meta


def fingerprint(folder: Path) -> str:
    """Return a SHA-256 over the files of the four arrays."""
    digest = hashlib.sha256()
    for name in ARRAYS:
        with open(folder / f"{name}.npy", "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
