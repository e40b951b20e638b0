"""Parallel text as subword ids, in memory-mapped .npy files that are never read whole."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nmt.errors import UserError
from nmt.files import read_json
from nmt.text.subwords import SubwordPair

ARRAYS = ("source", "source_offsets", "target", "target_offsets")
REMEDY = "delete it, then snakemake makes it again"


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
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class ParallelTokens:
    """Sentence pairs as ids.

    meta: counts, and a `fingerprint` of the contents, as `nmt.data.writing` wrote them.
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
        keys = ("sentences", "vocabulary_sizes", "vocabularies", "fingerprint")
        meta = read_json(folder / "meta.json", keys)
        try:
            if check and meta["fingerprint"] != fingerprint(folder):
                raise UserError(f"{folder} is damaged (its checksum is another): {REMEDY}.")
            arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
        except FileNotFoundError as error:
            raise UserError(f"{error.filename} is not there.") from None
        source = Ragged(arrays["source"], arrays["source_offsets"])
        target = Ragged(arrays["target"], arrays["target_offsets"])
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


def fingerprint(folder: Path) -> str:
    """Return a SHA-256 over the files of the four arrays."""
    digest = hashlib.sha256()
    for name in ARRAYS:
        with open(folder / f"{name}.npy", "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()
