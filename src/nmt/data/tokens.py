"""Parallel text as subword ids, in memory-mapped .npy files that are never read whole."""

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path

import numpy as np

from nmt.configuration import Cleaning
from nmt.errors import UserError
from nmt.files import read_json, read_lines, write_json
from nmt.progress import Progress
from nmt.text.readers import pair_lines
from nmt.text.subwords import UNK, SubwordPair

ARRAYS = ("source", "source_offsets", "target", "target_offsets")
SMALL_TOKEN = np.dtype("<u2")
TOKEN = np.dtype("<u4")
OFFSET = np.dtype("<i8")
REMEDY = (
    "delete {folder} and run snakemake, or binarize.py, which make it again in minutes; no training"
    " that was finished is repeated"
)
PAIRS_AT_A_TIME = 20_000
TOKENS_AT_A_TIME = 10_000_000


class Ragged:
    """Sequences of different lengths, concatenated.

    Sequence i is tokens[offsets[i]:offsets[i + 1]].
    """

    def __init__(self, tokens: np.ndarray, offsets: np.ndarray):
        self.tokens = tokens
        self.offsets = offsets

    @cached_property
    def lengths(self) -> np.ndarray:
        """Subwords in each sequence, (n,), held in memory."""
        return np.diff(self.offsets)

    @cached_property
    def entropy(self) -> float:
        """Unigram entropy of tokens, ends of sequences included, in nats.

        It is the loss of a model that knows nothing but frequencies.
        """
        size = int(self.tokens.max(initial=0)) + 1
        counts = np.zeros(size, dtype=np.int64)
        for start in range(0, len(self.tokens), TOKENS_AT_A_TIME):
            part = self.tokens[start : start + TOKENS_AT_A_TIME]
            counts += np.bincount(part, minlength=size)
        counts = np.append(counts, len(self))
        probabilities = counts[counts > 0] / counts.sum()
        return float(-(probabilities * np.log(probabilities)).sum())

    def __len__(self) -> int:
        return len(self.offsets) - 1

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
    def load(cls, folder: str | Path) -> "ParallelTokens":
        """Map the files of a folder into memory.

        They are read once to see that they are whole, at some 1.5 GB a second. Raises UserError
        when the folder is missing, or files in it are missing or damaged.
        """
        folder = Path(folder)
        remedy = REMEDY.format(folder=folder)
        keys = ("sentences", "vocabulary_sizes", "fingerprint")
        meta = read_json(folder / "meta.json", keys, remedy)
        try:
            intact = meta["fingerprint"] == fingerprint(folder)
        except FileNotFoundError as error:
            raise UserError(f"{error.filename} is not there: {remedy}.") from None
        if not intact:
            raise UserError(f"{folder} is damaged (its checksum is another): {remedy}.")
        arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
        source = Ragged(arrays["source"], arrays["source_offsets"])
        target = Ragged(arrays["target"], arrays["target_offsets"])
        if not len(source) == len(target) == meta["sentences"]:
            raise UserError(f"{folder} is damaged (meta.json is not of its files): {remedy}.")
        return cls(source, target, meta)

    def require_vocabulary(self, subwords: SubwordPair, folder: Path) -> None:
        """Raise UserError when the folder was made with vocabularies of other sizes than these."""
        sizes = [subwords.source.size, subwords.target.size]
        if self.meta["vocabulary_sizes"] != sizes:
            raise UserError(
                f"{folder} was made with vocabularies of {self.meta['vocabulary_sizes']} subwords,"
                f" not of {sizes}: binarize again with these."
            )

    def __len__(self) -> int:
        return len(self.source)


def sentence_lengths(folder: Path, side: str) -> np.ndarray:
    """Return the subwords in each sentence of a side, (n,), from its offsets alone.

    Raises UserError when the file is missing or damaged.
    """
    path = folder / f"{side}_offsets.npy"
    try:
        lengths = np.diff(np.load(path))
    except (OSError, ValueError, EOFError, MemoryError) as error:
        raise UserError(
            f"{path} cannot be read ({error}): {REMEDY.format(folder=folder)}."
        ) from None
    longest = (folder / f"{side}.npy").stat().st_size
    if lengths.min(initial=0) < 0 or lengths.max(initial=0) > longest:
        raise UserError(f"{path} is damaged: {REMEDY.format(folder=folder)}.")
    return lengths


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
    stays. Memory use does not grow with the text.

    Raises UserError when the files' line counts differ, or no pair is left.
    """
    folder.mkdir()
    lines = pair_lines(read_lines(source), read_lines(target), str(source), str(target))
    dropped = {"empty": 0, "too_long": 0, "ratio": 0} if cleaning else {}
    with (
        closing(RaggedWriter(folder, "source", subwords.source.size)) as source_writer,
        closing(RaggedWriter(folder, "target", subwords.target.size)) as target_writer,
        Progress("binarize", None, "pairs") as progress,
    ):
        for pairs in batched(lines, PAIRS_AT_A_TIME):
            source_ids = subwords.source.encode([pair[0] for pair in pairs], jobs)
            target_ids = subwords.target.encode([pair[1] for pair in pairs], jobs)
            for source_sequence, target_sequence in zip(source_ids, target_ids, strict=True):
                lengths = (len(source_sequence), len(target_sequence))
                reason = reason_to_drop(*lengths, cleaning) if cleaning else None
                if reason:
                    dropped[reason] += 1
                    continue
                source_writer.append(source_sequence)
                target_writer.append(target_sequence)
            source_writer.flush()
            target_writer.flush()
            progress.update(len(pairs))
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
        "fingerprint": fingerprint(folder),
    }
    write_json(folder / "meta.json", meta)
    return meta


def reason_to_drop(source_length: int, target_length: int, cleaning: Cleaning) -> str | None:
    """Return why a pair is dropped from training, or None; lengths are in subwords."""
    shorter, longer = sorted((source_length, target_length))
    if not shorter:
        return "empty"
    if longer > cleaning.max_length:
        return "too_long"
    if cleaning.max_ratio is not None and longer > cleaning.max_ratio * shorter:
        return "ratio"
    return None


def batched(items: Iterable, size: int) -> Iterator[list]:
    """Yield the items in lists of `size`, the last of which may be shorter."""
    iterator = iter(items)
    while batch := list(islice(iterator, size)):
        yield batch


def fingerprint(folder: Path) -> str:
    """Return a SHA-256 over the files of the four arrays."""
    digest = hashlib.sha256()
    for name in ARRAYS:
        with open(folder / f"{name}.npy", "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


class RaggedWriter:
    """A writer of sequences to <side>.npy and <side>_offsets.npy.

    Sequences are buffered in memory until `flush`; `close` completes the files. Counted are
    sequences, tokens (`end`) and, among these, unknown ones.
    """

    def __init__(self, folder: Path, side: str, vocabulary_size: int):
        fits_small = vocabulary_size <= np.iinfo(SMALL_TOKEN).max + 1
        self.tokens = GrowingArray(folder / f"{side}.npy", SMALL_TOKEN if fits_small else TOKEN)
        self.offsets = GrowingArray(folder / f"{side}_offsets.npy", OFFSET)
        self.sequences = 0
        self.end = 0
        self.unknown = 0
        self.buffered_tokens: list[int] = []
        self.buffered_offsets: list[int] = [0]

    def append(self, sequence: list[int]) -> None:
        """Add the ids of one sequence."""
        self.sequences += 1
        self.end += len(sequence)
        self.unknown += sequence.count(UNK)
        self.buffered_tokens.extend(sequence)
        self.buffered_offsets.append(self.end)

    def flush(self) -> None:
        """Write what is buffered."""
        self.tokens.extend(self.buffered_tokens)
        self.offsets.extend(self.buffered_offsets)
        self.buffered_tokens = []
        self.buffered_offsets = []

    def close(self) -> None:
        """Close both files."""
        self.tokens.close()
        self.offsets.close()


class GrowingArray:
    """A writer of a one-dimensional .npy file whose length is not known in advance.

    Its header is overwritten at the end: numpy pads headers so that the final length fits.
    """

    def __init__(self, path: Path, dtype: np.dtype):
        self.file = path.open("wb")
        self.dtype = dtype
        self.length = 0
        self.write_header()

    def write_header(self) -> None:
        """Write the header for the present length."""
        header = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.length,),
        }
        np.lib.format.write_array_header_1_0(self.file, header)

    def extend(self, values: list[int]) -> None:
        """Append values to the file."""
        self.file.write(np.array(values, dtype=self.dtype).tobytes())
        self.length += len(values)

    def close(self) -> None:
        """Write the final header and close the file."""
        with self.file:
            self.file.seek(0)
            self.write_header()
