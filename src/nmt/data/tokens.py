"""Parallel text as subword ids, in .npy files that are mapped into memory, never read whole."""

import hashlib
from collections import Counter
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
SMALL_TOKEN, TOKEN, OFFSET = np.dtype("<u2"), np.dtype("<u4"), np.dtype("<i8")
PAIRS_AT_A_TIME = 20_000


class Ragged:
    """Sequences of different lengths, one after the other: number i is tokens[offsets[i]:offsets[i
    + 1]].
    """

    def __init__(self, tokens: np.ndarray, offsets: np.ndarray):
        self.tokens, self.offsets = tokens, offsets

    @cached_property
    def lengths(self) -> np.ndarray:
        """Subwords in each sequence, (n,): held in memory."""
        return np.diff(self.offsets)

    @cached_property
    def entropy(self) -> float:
        """Of a token, the ends of sequences counted, in nats: the loss of who knows nothing but
        frequencies.
        """
        size, at_a_time = int(self.tokens.max(initial=0)) + 1, 10_000_000
        parts = (
            self.tokens[start : start + at_a_time]
            for start in range(0, len(self.tokens), at_a_time)
        )
        counts = np.append(sum(np.bincount(part, minlength=size) for part in parts), len(self))
        shares = counts[counts > 0] / counts.sum()
        return float(-(shares * np.log(shares)).sum())

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: int) -> np.ndarray:
        """The ids of one sequence, without begin and end symbols, (length,)."""
        if not 0 <= index < len(self):
            raise IndexError(f"sequence {index} of {len(self)}")
        return self.tokens[self.offsets[index] : self.offsets[index + 1]]


@dataclass(frozen=True)
class ParallelTokens:
    """Sentence pairs as ids; `meta` holds counts and a `fingerprint` of the contents (see
    `write_tokens`).
    """

    source: Ragged
    target: Ragged
    meta: dict

    @classmethod
    def load(cls, folder: str | Path) -> "ParallelTokens":
        """Raises UserError when the folder is missing, or files in it are missing or damaged."""
        folder = Path(folder)
        meta = read_json(folder / "meta.json")
        try:
            arrays = {name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in ARRAYS}
        except FileNotFoundError as error:
            raise UserError(
                f"{error.filename} is not there: delete {folder} and make it again."
            ) from None
        except (ValueError, EOFError) as error:
            raise UserError(
                f"{folder} is damaged ({error}): delete it and make it again."
            ) from None
        source = Ragged(arrays["source"], arrays["source_offsets"])
        target = Ragged(arrays["target"], arrays["target_offsets"])
        if any(
            len(side) != meta["sentences"] or side.offsets[-1] != len(side.tokens)
            for side in (source, target)
        ):
            raise UserError(
                f"{folder} is damaged (its files do not fit together): delete it and make it again."
            )
        return cls(source, target, meta)

    def __len__(self) -> int:
        return len(self.source)


def write_tokens(
    folder: Path,
    subwords: SubwordPair,
    source: Path,
    target: Path,
    cleaning: Cleaning | None,
    jobs: int,
) -> dict:
    """Encodes two text files, line by line parallel, into a new folder; returns what it wrote to
    meta.json.

    With `cleaning`, as for training, pairs with an empty side, a side longer than `max_length`
    subwords, or sides of a ratio over `max_ratio` are dropped and counted; without it every pair
    stays. Holds little in memory, however much text there is.

    Raises UserError when the files' line counts differ, or no pair is left.
    """
    vocabularies = {"source": subwords.source, "target": subwords.target}
    folder.mkdir()
    lines = pair_lines(read_lines(source), read_lines(target), str(source), str(target))
    counts: Counter[str] = Counter()
    dropped: Counter[str] = Counter(empty=0, too_long=0, ratio=0) if cleaning else Counter()
    with (
        closing(RaggedWriter(folder, "source", subwords.source.size)) as source_writer,
        closing(RaggedWriter(folder, "target", subwords.target.size)) as target_writer,
        Progress("binarize", None, "pairs") as shown,
    ):
        writers = {"source": source_writer, "target": target_writer}
        for pairs in batched(lines, PAIRS_AT_A_TIME):
            texts = zip(vocabularies.values(), zip(*pairs, strict=True), strict=True)
            sides = [vocabulary.encode(list(lines), jobs) for vocabulary, lines in texts]
            for ids in zip(*sides, strict=True):
                fault = fault_of(*map(len, ids), cleaning) if cleaning else None
                if fault:
                    dropped[fault] += 1
                    continue
                counts["sentences"] += 1
                for side, sequence in zip(writers, ids, strict=True):
                    writers[side].append(sequence)
                    counts[f"{side}_tokens"] += len(sequence)
                    counts[f"{side}_unknown"] += sequence.count(UNK)
            shown.update(len(pairs))
            for writer in writers.values():
                writer.flush()
    if not counts["sentences"]:
        why = (
            f" after cleaning (dropped: {', '.join(f'{n} {what}' for what, n in dropped.items())})"
            if dropped
            else ""
        )
        raise UserError(
            f"no sentence pair is left of {source} and {target}{why}: check the files and"
            " `cleaning`."
        )
    meta = {
        **counts,
        "dropped": dict(dropped),
        "vocabulary_sizes": [vocabulary.size for vocabulary in vocabularies.values()],
        "fingerprint": fingerprint(folder),
    }
    write_json(folder / "meta.json", meta)
    return meta


def fault_of(source_length: int, target_length: int, cleaning: Cleaning) -> str | None:
    """Why a pair is not fit for training, or None; lengths in subwords."""
    shorter, longer = sorted((source_length, target_length))
    if not shorter:
        return "empty"
    if longer > cleaning.max_length:
        return "too_long"
    if cleaning.max_ratio is not None and longer > cleaning.max_ratio * shorter:
        return "ratio"
    return None


def batched(items: Iterable, size: int) -> Iterator[list]:
    items = iter(items)
    while batch := list(islice(items, size)):
        yield batch


def fingerprint(folder: Path) -> str:
    """sha256 over the four arrays' files."""
    digest = hashlib.sha256()
    for name in ARRAYS:
        with open(folder / f"{name}.npy", "rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()


class RaggedWriter:
    """Appends sequences to <side>.npy and <side>_offsets.npy; call `flush` now and then, and
    `close`.
    """

    def __init__(self, folder: Path, side: str, vocabulary_size: int):
        token = SMALL_TOKEN if vocabulary_size <= np.iinfo(SMALL_TOKEN).max + 1 else TOKEN
        self.tokens = GrowingArray(folder / f"{side}.npy", token)
        self.offsets = GrowingArray(folder / f"{side}_offsets.npy", OFFSET)
        self.end = 0
        self.waiting: list[int] = []
        self.waiting_offsets: list[int] = [0]

    def append(self, sequence: list[int]) -> None:
        self.end += len(sequence)
        self.waiting.extend(sequence)
        self.waiting_offsets.append(self.end)

    def flush(self) -> None:
        self.tokens.extend(self.waiting)
        self.offsets.extend(self.waiting_offsets)
        self.waiting, self.waiting_offsets = [], []

    def close(self) -> None:
        self.tokens.close()
        self.offsets.close()


class GrowingArray:
    """A one-dimensional .npy file that grows: numpy pads the header so that the final length fits
    in its place.
    """

    def __init__(self, path: Path, dtype: np.dtype):
        self.file = path.open("wb")
        self.dtype, self.length = dtype, 0
        self.write_header()

    def write_header(self) -> None:
        header = {
            "descr": np.lib.format.dtype_to_descr(self.dtype),
            "fortran_order": False,
            "shape": (self.length,),
        }
        np.lib.format.write_array_header_1_0(self.file, header)

    def extend(self, values: list[int]) -> None:
        self.file.write(np.array(values, dtype=self.dtype).tobytes())
        self.length += len(values)

    def close(self) -> None:
        with self.file:
            self.file.seek(0)
            self.write_header()
