"""Moses tokens for the tokenized BLEU variants that papers print.

sacremoses is the tokenizer. Two of its habits differ from the Perl scripts of Moses: see
`lowercased_and_normalized` for the one that is put right here; the other, a full stop kept on a
last word such as "26.", touches 8 of newstest2014's 3003 German lines and 0.01 BLEU, and stays so
that the tokens are sacremoses's own.
"""

import re
from collections.abc import Iterable

import sacremoses

COMPOUND = re.compile(rb"(\S)-(\S)")
QUOTES = str.maketrans(dict.fromkeys("„“”«»", '"'))


def tokenized(lines: Iterable[str], language: str) -> list[str]:
    """Each line as its Moses tokens, joined by single spaces; nothing is escaped (`"` stays `"`).

    `language` is a code such as "de"; one for which Moses has no abbreviations is tokenized with
    the English ones.
    """
    tokenizer = sacremoses.MosesTokenizer(language)
    return [tokenizer.tokenize(line, escape=False, return_str=True) for line in lines]


def compounds_split(lines: Iterable[str]) -> list[str]:
    r"""Tokenized lines with "rich-text" as "rich ##AT##-##AT## text", as the papers score EN-DE.

    Source: tensor2tensor's get_ende_bleu.sh, `perl -ple 's{(\S)-(\S)}{$1 ##AT##-##AT## $2}g'`.
    Matches do not overlap there: "a-b-c" becomes "a ##AT##-##AT## b-c".
    """
    # On bytes, as Perl does it: a single letter between two hyphens blocks the second split only if
    # it is ASCII.
    return [COMPOUND.sub(rb"\1 ##AT##-##AT## \2", line.encode()).decode() for line in lines]


def quotes_mapped(lines: Iterable[str]) -> list[str]:
    """Each line with German and French quotation marks as `"`, before it is tokenized."""
    return [line.translate(QUOTES) for line in lines]


def lowercased_and_normalized(lines: Iterable[str], language: str) -> list[str]:
    """Each line lower-cased, then with Moses's punctuation normalization; not yet tokenized.

    Source: Multi30k's task1-tokenize.sh, which makes its `lc.norm.tok` files.
    """
    normalizer = sacremoses.MosesPunctNormalizer(language, perl_parity=True)
    # The Perl script sees the line's end, and its rule that turns `."` into `".` in German, French
    # and Spanish needs a character after the quote. Without the "\n" it would not apply at the end
    # of a line.
    return [normalizer.normalize(line.lower() + "\n") for line in lines]
