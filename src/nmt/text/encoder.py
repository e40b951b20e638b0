"""Text to subword ids, many lines at a time: each word is segmented once and then looked up."""

from dataclasses import dataclass
from itertools import chain

import numpy as np

from nmt.text.subwords import Segmenter

END_OF_LINE = np.uint32(2**32 - 1)  # no id
MOST_WORDS = 2**18  # remembered: some 50 MB
SPACE_MARK = "▁"  # sentencepiece's; preprocessed text has none
LONGEST_WORD = 100  # characters; longer words are rare and not remembered


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
        self.ids_of_words = WordIds(subwords)

    def __call__(self, lines: list[str]) -> Encoded:
        """Return the ids of each line."""
        text = " \n ".join([*lines, ""])
        if not self.by_words or SPACE_MARK in text:
            return self.encode_whole(lines)
        words = text.split(" ")
        words.pop()  # what is after the last line's end
        with_ends = np.frombuffer(b"".join(map(self.ids_of_words.__getitem__, words)), np.uint32)
        ends = np.flatnonzero(with_ends == END_OF_LINE)
        lengths = np.diff(ends, prepend=-1) - 1
        return Encoded(with_ends[with_ends != END_OF_LINE], lengths)

    def encode_whole(self, lines: list[str]) -> Encoded:
        """Return the ids of each line, as the segmenter itself encodes it."""
        ids = self.subwords.encode(lines)
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        return Encoded(np.fromiter(chain.from_iterable(ids), np.uint32, lengths.sum()), lengths)


class WordIds(dict[str, bytes]):
    """A cache of each word's ids, as bytes with 32 bits an id."""

    def __init__(self, subwords: Segmenter):
        self.subwords = subwords
        self.reset()

    def reset(self) -> None:
        """Forget all words."""
        self.clear()
        self.update({"": b"", "\n": END_OF_LINE.tobytes()})

    def __missing__(self, word: str) -> bytes:
        """Segment the word."""
        [ids] = self.subwords.encode([word])
        encoded = np.array(ids, np.uint32).tobytes()
        if len(word) <= LONGEST_WORD:
            if len(self) >= MOST_WORDS:
                self.reset()
            self[word] = encoded
        return encoded
