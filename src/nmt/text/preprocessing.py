"""What is done to a line of text before subwords, and undone after translation."""

import signal
from collections.abc import Iterable, Iterator
from multiprocessing import Pool

from nmt.configuration import Vocabulary

LINES_AT_A_TIME = 1000  # sent to a worker process


class Preprocessing:
    """One language's text as a vocabulary wants it.

    In this order, that of the recipe behind Multi30k's published numbers (Wu et al. 2021):
    lower-casing; Moses punctuation normalization, with non-printing characters replaced by spaces
    as remove-non-printing-char.perl does; Moses tokenization, nothing escaped. Always: "▁", with
    which sentencepiece marks spaces, becomes "_", and every run of white space (no-break spaces and
    line separators too) becomes one space.
    """

    def __init__(self, vocabulary: Vocabulary, language: str):
        self.lowercase = vocabulary.lowercase
        self.normalizer = self.tokenizer = self.detokenizer = None
        if vocabulary.normalize:
            from sacremoses import MosesPunctNormalizer  # not above: it takes a third of a second

            self.normalizer = MosesPunctNormalizer(language)
        if vocabulary.tokenize:
            from sacremoses import MosesDetokenizer, MosesTokenizer

            self.tokenizer, self.detokenizer = MosesTokenizer(language), MosesDetokenizer(language)

    def apply(self, line: str) -> str:
        if self.lowercase:
            line = line.lower()
        if self.normalizer:
            # No-break spaces must still be there: Moses treats "5\u00a0%" and "10\u00a0000"
            # otherwise than "5 %".
            line = self.normalizer.normalize(line)
            line = "".join(character if character.isprintable() else " " for character in line)
        line = " ".join(line.replace("▁", "_").split())
        if self.tokenizer:
            line = self.tokenizer.tokenize(line, escape=False, return_str=True)
        return line

    def undo(self, line: str) -> str:
        """Takes back the tokenization; what was lower-cased or normalized stays so."""
        if self.detokenizer:
            return self.detokenizer.detokenize(line.split(), unescape=False)
        return line


def preprocessed(
    lines: Iterable[str], vocabulary: Vocabulary, language: str, jobs: int
) -> Iterator[str]:
    """`Preprocessing.apply` to every line, in order, by `jobs` processes: sacremoses takes its
    time.
    """
    if jobs == 1:
        yield from map(Preprocessing(vocabulary, language).apply, lines)
        return
    with Pool(jobs, initializer=start_worker, initargs=(vocabulary, language)) as pool:
        yield from pool.imap(apply_in_worker, lines, chunksize=LINES_AT_A_TIME)


def start_worker(vocabulary: Vocabulary, language: str) -> None:
    """Makes the worker process's own Preprocessing; leaves Ctrl-C to its parent, and goes when its
    parent says so.
    """
    global preprocessing
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    preprocessing = Preprocessing(vocabulary, language)


def apply_in_worker(line: str) -> str:
    return preprocessing.apply(line)
