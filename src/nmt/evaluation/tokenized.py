"""Moses tokens for the tokenized BLEU variants that papers print.

sacremoses is the tokenizer. Two of its habits differ from the Perl scripts of Moses: see
`normalized` for the one that is corrected here; the other, a full stop kept on a last word such as
"26.", affects 8 of newstest2014's 3003 German lines and 0.01 BLEU, and is kept so that the tokens
are sacremoses's own.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache, partial

import sacremoses

COMPOUND = re.compile(rb"(\S)-(\S)")


def moses_tokens(lines: Iterable[str], language: str) -> list[str]:
    """Return each line as its Moses tokens, joined by single spaces.

    Nothing is escaped (`"` stays `"`). `language` is a code such as "de"; a language for which
    Moses has no abbreviations is tokenized with the English ones.
    """
    return [moses_tokenizer(language)(line) for line in lines]


@cache
def moses_tokenizer(language: str) -> Callable[[str], str]:
    """Return a function from a line to its tokens, which remembers them: several metrics need them.

    Tokenization takes most of their time.
    """
    tokenizer = sacremoses.MosesTokenizer(language)
    return cache(partial(tokenizer.tokenize, escape=False, return_str=True))


def compounds_split(lines: Iterable[str]) -> list[str]:
    r"""Return tokenized lines with "rich-text" as "rich ##AT##-##AT## text".

    The papers score EN-DE so. Source: tensor2tensor's get_ende_bleu.sh,
    `perl -ple 's{(\S)-(\S)}{$1 ##AT##-##AT## $2}g'`. Matches do not overlap there: "a-b-c" becomes
    "a ##AT##-##AT## b-c".
    """
    # On bytes, as Perl does it: a single letter between two hyphens blocks the second split only if
    # it is ASCII.
    return [COMPOUND.sub(rb"\1 ##AT##-##AT## \2", line.encode()).decode() for line in lines]


def normalized(lines: Iterable[str], language: str) -> list[str]:
    """Return each line, not yet tokenized, after Moses's punctuation normalization.

    On lower-cased lines it is what Multi30k's task1-tokenize.sh does, which makes its `lc.norm.tok`
    files.
    """
    normalizer = sacremoses.MosesPunctNormalizer(language, perl_parity=True)
    # The Perl script sees the line's end, and its rule that turns `."` into `".` in German, French
    # and Spanish needs a character after the quote. Without the "\n" it would not apply at the end
    # of a line.
    return [normalizer.normalize(line + "\n") for line in lines]
