"""Preprocessing of text before subword segmentation, and its reversal after translation."""

import unicodedata
from collections.abc import Collection

STEPS = ("lowercase", "normalize", "tokenize")
# Not printed, and yet a part of words (Persian, Hindi) and emoji
JOINERS = "\u200c\u200d"
# What sentencepiece uses itself: "▁" marks spaces, and text with "▅" is refused
RESERVED = str.maketrans({"▁": "_", "▅": "▄"})


class Preprocessing:
    """The preprocessing of one language's text by some of STEPS.

    The steps and their order are those of the recipe behind Multi30k's published numbers (Wu et al.
    2021): lower-casing; Moses punctuation normalization, with non-printing characters but joiners
    replaced by spaces as remove-non-printing-char.perl does; Moses tokenization, without escaping.
    First of all, always: Unicode's form NFC. Before tokenization, always: characters that
    sentencepiece uses become similar ones, and every run of white space (no-break spaces and line
    separators too) becomes one space.
    """

    def __init__(self, steps: Collection[str], language: str):
        self.language = language
        self.lowercase = "lowercase" in steps
        self.normalizer = None
        self.tokenizer = None
        self.detokenizer = None
        # sacremoses is imported only when needed: that takes a third of a second.
        if "normalize" in steps:
            from nmt.text.moses import Normalizer

            self.normalizer = Normalizer(language)
        if "tokenize" in steps:
            from sacremoses import MosesDetokenizer, MosesTokenizer

            self.tokenizer = MosesTokenizer(language)
            self.detokenizer = MosesDetokenizer(language)

    def __call__(self, lines: list[str]) -> list[str]:
        """Return lines of raw text preprocessed."""
        return [self.apply(line) for line in lines]

    def apply(self, line: str) -> str:
        """Return a line of raw text preprocessed."""
        line = unicodedata.normalize("NFC", line)
        if self.lowercase:
            line = line.lower()
        if self.normalizer:
            # Before white space is normalized: Moses treats no-break spaces, as in "5\u00a0%" and
            # "10\u00a0000", differently from the space in "5 %".
            line = self.normalizer.normalize(line)
            if not line.isprintable():
                line = "".join(
                    character if character.isprintable() or character in JOINERS else " "
                    for character in line
                )
        line = " ".join(line.translate(RESERVED).split())
        if self.tokenizer:
            line = self.tokenizer.tokenize(line, escape=False, return_str=True)
        return line

    def undo(self, line: str) -> str:
        """Return a line detokenized; lower-casing and normalization are not reversed."""
        if self.detokenizer:
            return self.detokenizer.detokenize(line.split(), unescape=False)
        return line
