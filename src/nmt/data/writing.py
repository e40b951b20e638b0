"""Writers of token files, whose lengths are not known in advance."""

from pathlib import Path

import numpy as np

from nmt.data.encoding import Encoded
from nmt.text.subwords import UNK

SMALL_TOKEN = np.dtype("<u2")
TOKEN = np.dtype("<u4")
OFFSET = np.dtype("<i8")


class RaggedWriter:
    """A writer of sequences to <side>.npy and <side>_offsets.npy, which `close` completes.

    Counted are sequences, tokens (`end`) and, among these, unknown ones.
    """

    def __init__(self, folder: Path, side: str, vocabulary_size: int):
        fits_small = vocabulary_size <= np.iinfo(SMALL_TOKEN).max + 1
        self.tokens = GrowingArray(folder / f"{side}.npy", SMALL_TOKEN if fits_small else TOKEN)
        self.offsets = GrowingArray(folder / f"{side}_offsets.npy", OFFSET)
        self.offsets.extend(np.zeros(1))
        self.sequences = 0
        self.end = 0
        self.unknown = 0

    def extend(self, sequences: Encoded) -> None:
        """Append sequences."""
        self.tokens.extend(sequences.tokens)
        self.offsets.extend(self.end + np.cumsum(sequences.lengths))
        self.sequences += len(sequences.lengths)
        self.end += len(sequences.tokens)
        self.unknown += int(np.count_nonzero(sequences.tokens == UNK))

    def close(self) -> None:
        """Complete both files."""
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

    def extend(self, values: np.ndarray) -> None:
        """Append values to the file."""
        self.file.write(values.astype(self.dtype, copy=False).tobytes())
        self.length += len(values)

    def close(self) -> None:
        """Write the final header and close the file."""
        with self.file:
            self.file.seek(0)
            self.write_header()
