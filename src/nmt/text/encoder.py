"""Text to subword ids, many lines at a time: each word is segmented once and then looked up."""

from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np

from nmt.text.subwords import Segmenter

END_OF_LINE = np.uint32(2**32 - 1)  # no id
MOST_REMEMBERED = 2**23  # characters and ids, of some 700,000 words, in 110 MB
SPACE_MARK = "▁"  # sentencepiece's; preprocessed text has none


@dataclass(frozen=True)
class Encoded:
    """Sequences of ids one after the other.

    tokens: (all lengths together,). lengths: of each sequence, (n,).
    """

    tokens: np.ndarray
    lengths: np.ndarray

    def kept(self, mask: np.ndarray) -> "Encoded":
        """Return the sequences for which the mask, (n,), is true."""
        if mask.all():
            return self
        return Encoded(self.tokens[np.repeat(mask, self.lengths)], self.lengths[mask])


class Encoder:
    """Encodes lines as `Segmenter.encode` does, word by word where words are independent."""

    def __init__(self, subwords: Segmenter):
        self.subwords = subwords
        self.by_words = subwords.words_are_independent
        self.forget()

    def forget(self) -> None:
        """Forget all words but the two of which lines are made: nothing, and the end of a line."""
        self.ids_of_words = {"": b"", "\n": END_OF_LINE.tobytes()}
        self.remembered = 0  # characters and ids

    def __call__(self, lines: list[str]) -> Encoded:
        """Return the ids of each line."""
        text = " \n ".join([*lines, ""])
        if not self.by_words or SPACE_MARK in text:
            return self.encode_whole(lines)
        words = text.split(" ")
        words.pop()  # what is after the last line's end
        self.remember(set(words))
        with_ends = np.frombuffer(b"".join(map(self.ids_of_words.__getitem__, words)), np.uint32)
        ends = np.flatnonzero(with_ends == END_OF_LINE)
        lengths = np.diff(ends, prepend=-1) - 1
        return Encoded(with_ends[with_ends != END_OF_LINE], lengths)

    def remember(self, words: set[str]) -> None:
        """Segment the words that are not remembered, in one call: each call starts a thread."""
        if self.remembered > MOST_REMEMBERED:
            self.forget()
        new = list(words - self.ids_of_words.keys())
        encoded = self.encode_whole(new)
        ends = np.cumsum(encoded.lengths * encoded.tokens.itemsize).tolist()
        data = encoded.tokens.tobytes()
        self.ids_of_words.update(
            zip(new, (data[i:j] for i, j in pairwise([0, *ends])), strict=True)
        )
        self.remembered += sum(map(len, new)) + len(encoded.tokens)

    def encode_whole(self, lines: list[str]) -> Encoded:
        """Return the ids of each line, as the segmenter itself encodes it."""
        ids = self.subwords.encode(lines)
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        return Encoded(np.fromiter(chain.from_iterable(ids), np.uint32, lengths.sum()), lengths)
