"""Parallel text encoded as subword ids, cleaned, and written to token files."""

from collections import Counter
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path

import numpy as np

from nmt.configuration import Cleaning
from nmt.data.tokens import Ragged, fingerprint
from nmt.errors import UserError
from nmt.files import read_lines, write_json
from nmt.progress import Progress
from nmt.text.chunks import chunked, in_processes
from nmt.text.readers import pair_lines
from nmt.text.subwords import UNK, Segmenter, SubwordPair

# Why a pair is dropped, in the order in which it is asked
REASONS = ("empty", "too_long", "ratio")


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
    subwords, or sides of a ratio over `max_ratio` are dropped, as dropped.tsv tells; without it all
    stay. `jobs` processes encode. In memory is 8 bytes a sentence, the rest goes to the files.

    Raises UserError when the files' line counts differ, or no pair is left.
    """
    folder.mkdir()
    counts: Counter[str] = Counter()
    lines = pair_lines(read_lines(source), read_lines(target), str(source), str(target))
    encoded = in_processes(partial(encode_pairs, subwords, cleaning), chunked(lines), jobs)
    with (
        closing(RaggedWriter(folder, "source", subwords.source.size)) as source_writer,
        closing(RaggedWriter(folder, "target", subwords.target.size)) as target_writer,
        open(folder / "dropped.tsv", "w", encoding="utf-8") as dropped_file,
        Progress("binarize", None, "pairs") as progress,
    ):
        for source_ids, target_ids, reasons in encoded:
            source_writer.extend(source_ids)
            target_writer.extend(target_ids)
            for line, reason in enumerate(reasons, counts.total() + 1):
                if reason:
                    dropped_file.write(f"{line}\t{reason}\n")
            counts.update(reasons)
            progress.update(len(reasons))
    dropped = {reason: counts[reason] for reason in REASONS} if cleaning else {}
    if not source_writer.sequences:
        listed = ", ".join(f"{count} {reason}" for reason, count in dropped.items())
        after_cleaning = f" after cleaning (dropped: {listed})" if dropped else ""
        raise UserError(
            f"no sentence pair is left of {source} and {target}{after_cleaning}: check the files"
            " and `cleaning`."
        )
    meta = {
        "sentences": source_writer.sequences,
        "source_tokens": source_writer.tokens,
        "source_unknown": source_writer.unknown,
        "target_tokens": target_writer.tokens,
        "target_unknown": target_writer.unknown,
        "dropped": dropped,
        "vocabulary_sizes": [subwords.source.size, subwords.target.size],
        "vocabularies": subwords.checksums,
        "fingerprint": fingerprint(folder),
    }
    write_json(folder / "meta.json", meta)
    return meta


def encode_pairs(
    subwords: SubwordPair, cleaning: Cleaning | None, pairs: list[tuple[str, str]]
) -> tuple[Ragged, Ragged, list[str]]:
    """Return both sides of parallel text as ids, and why each pair is dropped, "" where it stays.

    Training text is cleaned; without `cleaning` every pair stays.
    """
    source = encode(subwords.source, [pair[0] for pair in pairs])
    target = encode(subwords.target, [pair[1] for pair in pairs])
    if cleaning is None:
        return source, target, [""] * len(pairs)
    reasons = reasons_to_drop(source.lengths, target.lengths, cleaning)
    keep = reasons == ""
    return kept(source, keep), kept(target, keep), reasons.tolist()


def encode(subwords: Segmenter, lines: list[str]) -> Ragged:
    """Return the ids of each line."""
    ids = subwords.encode(lines)
    offsets = np.cumsum([0, *map(len, ids)])
    return Ragged(np.fromiter(chain.from_iterable(ids), np.uint32, offsets[-1]), offsets)


def kept(sequences: Ragged, mask: np.ndarray) -> Ragged:
    """Return the sequences for which the mask, (n,), is true."""
    lengths = sequences.lengths
    return Ragged(
        sequences.tokens[np.repeat(mask, lengths)], np.cumsum(np.append(0, lengths[mask]))
    )


def reasons_to_drop(source: np.ndarray, target: np.ndarray, cleaning: Cleaning) -> np.ndarray:
    """Return for each pair the first of REASONS that holds, "" where none does: (n,).

    source, target: lengths in subwords, (n,).
    """
    shorter, longer = np.minimum(source, target), np.maximum(source, target)
    ratio = np.inf if cleaning.max_ratio is None else cleaning.max_ratio
    conditions = [shorter == 0, longer > cleaning.max_length, longer > ratio * shorter.clip(1)]
    return np.select(conditions, REASONS, "")


class RaggedWriter:
    """A writer of sequences to <side>.npy and <side>_offsets.npy, which `close` completes.

    Counted are sequences, tokens and, among these, unknown ones.
    """

    def __init__(self, folder: Path, side: str, vocabulary_size: int):
        self.file = (folder / f"{side}.npy").open("wb")
        self.offsets = folder / f"{side}_offsets.npy"
        self.dtype = np.dtype("<u2" if vocabulary_size <= 2**16 else "<u4")
        self.lengths = [np.zeros(1, np.int64)]
        self.sequences = 0
        self.tokens = 0
        self.unknown = 0
        self.write_header()

    def write_header(self) -> None:
        """Write the header for the present length; numpy pads it so that any length fits."""
        header = {"descr": self.dtype.str, "fortran_order": False, "shape": (self.tokens,)}
        np.lib.format.write_array_header_1_0(self.file, header)

    def extend(self, sequences: Ragged) -> None:
        """Append sequences."""
        self.file.write(sequences.tokens.astype(self.dtype).tobytes())
        self.lengths.append(sequences.lengths)
        self.sequences += len(sequences)
        self.tokens += len(sequences.tokens)
        self.unknown += int(np.count_nonzero(sequences.tokens == UNK))

    def close(self) -> None:
        """Write the final header and the offsets."""
        with self.file:
            self.file.seek(0)
            self.write_header()
        np.save(self.offsets, np.concatenate(self.lengths).cumsum().astype("<i8"))
