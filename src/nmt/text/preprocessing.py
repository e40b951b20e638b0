"""Preprocessing of text before subword segmentation, and its reversal after translation."""

import signal
from collections.abc import Collection, Iterable, Iterator
from multiprocessing import Pool

STEPS = ("lowercase", "normalize", "tokenize")
LINES_AT_A_TIME = 1000  # sent to a worker process


class Preprocessing:
    """The preprocessing of one language's text by some of STEPS.

    The steps and their order are those of the recipe behind Multi30k's published numbers (Wu et al.
    2021): lower-casing; Moses punctuation normalization, with non-printing characters replaced by
    spaces as remove-non-printing-char.perl does; Moses tokenization, without escaping. Before
    tokenization, always: "▁", with which sentencepiece marks spaces, becomes "_", and every run of
    white space (no-break spaces and line separators too) becomes one space.
    """

    def __init__(self, steps: Collection[str], language: str):
        self.lowercase = "lowercase" in steps
        self.normalizer = None
        self.tokenizer = None
        self.detokenizer = None
        # sacremoses is imported only when needed: that takes a third of a second.
        if "normalize" in steps:
            from sacremoses import MosesPunctNormalizer

            self.normalizer = MosesPunctNormalizer(language)
        if "tokenize" in steps:
            from sacremoses import MosesDetokenizer, MosesTokenizer

            self.tokenizer = MosesTokenizer(language)
            self.detokenizer = MosesDetokenizer(language)

    def apply(self, line: str) -> str:
        """Return a line of raw text preprocessed."""
        if self.lowercase:
            line = line.lower()
        if self.normalizer:
            # Before white space is normalized: Moses treats no-break spaces, as in "5\u00a0%" and
            # "10\u00a0000", differently from the space in "5 %".
            line = self.normalizer.normalize(line)
            line = "".join(character if character.isprintable() else " " for character in line)
        line = " ".join(line.replace("▁", "_").split())
        if self.tokenizer:
            line = self.tokenizer.tokenize(line, escape=False, return_str=True)
        return line

    def undo(self, line: str) -> str:
        """Return a line detokenized; lower-casing and normalization are not reversed."""
        if self.detokenizer:
            return self.detokenizer.detokenize(line.split(), unescape=False)
        return line


def preprocess_lines(
    lines: Iterable[str], steps: Collection[str], language: str, jobs: int
) -> Iterator[str]:
    """Yield the lines preprocessed, in order, by `jobs` processes (sacremoses is slow)."""
    if jobs == 1:
        yield from map(Preprocessing(steps, language).apply, lines)
        return
    with Pool(jobs, initializer=start_worker, initargs=(steps, language)) as pool:
        yield from pool.imap(apply_in_worker, lines, chunksize=LINES_AT_A_TIME)


preprocessing: Preprocessing  # of a worker process


def start_worker(steps: Collection[str], language: str) -> None:
    """Make the Preprocessing of a worker process.

    The worker leaves Ctrl-C to its parent, and ends when its parent terminates it.
    """
    global preprocessing
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    preprocessing = Preprocessing(steps, language)


def apply_in_worker(line: str) -> str:
    """Return a line preprocessed by the worker's own Preprocessing."""
    return preprocessing.apply(line)
