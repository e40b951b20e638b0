"""Cut a sentence by each kind of subwords, all learned from the same text, as a Markdown table.

The sentence is that of NPFL138's lecture 9 if none is given. The last column has the number of
subwords for each word of the text.
"""

import argparse
from pathlib import Path
from typing import get_args

from nmt import command
from nmt.configuration import BYTES, Vocabulary, validated
from nmt.files import read_lines
from nmt.text.subwords import learn, segmenter
from nmt.text.wordpieces import SYMBOLS

PHRASE = "Přelétavý motýlek"
KINDS = get_args(Vocabulary.model_fields["kind"].annotation)


def main(args: argparse.Namespace) -> None:
    """Learn each kind, of bytes a vocabulary of its own size, and print the table."""
    lines = [line for path in args.text for line in read_lines(path)]
    words = sum(len(line.split()) for line in lines)
    print("| kind | subwords | a word |", "|:--|:--|--:|", sep="\n")
    for name in (*KINDS, "bpe, byte_fallback"):
        kind, _, falls_back = name.partition(", ")
        size = BYTES + len(SYMBOLS) if kind == "bytes" else args.size
        values = {"kind": kind, "size": size, "byte_fallback": bool(falls_back)}
        vocabulary = validated(Vocabulary, values, f"--size {args.size}, {name}")
        subwords = segmenter(learn(vocabulary, args.text, args.jobs))
        [ids] = subwords.encode([args.sentence])
        pieces = " ".join(f"`{piece}`" for piece in subwords.pieces(ids))
        print(f"| {name} | {pieces} | {sum(map(len, subwords.encode(lines))) / words:.2f} |")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument(
        "--text", type=Path, nargs="+", required=True, metavar="FILE", help="learned from"
    )
    parser.add_argument("--size", type=int, default=4000, help="of vocabularies (%(default)s)")
    parser.add_argument("--sentence", default=PHRASE, metavar="TEXT", help="without line end")
    command.add_jobs(parser)
    command.run(main, parser)
