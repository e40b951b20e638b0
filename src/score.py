"""Scores translations against references and writes the scores as JSON."""

import logging
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

from nmt.command import arguments, run
from nmt.evaluation.scores import by_source_length, by_source_rank, check, check_parallel, score
from nmt.files import read_lines, write_json

# Words; each bucket goes up to, not including, the next bound, the last one has no end
SOURCE_LENGTHS = (0, 10, 15, 20, 25, 30, 40, 50)
PARTS = 10  # of equally many sentences, by source length


def parser():
    parser = arguments(
        "Score plain, detokenized translations: BLEU in its named variants, chrF2 and TER."
    )
    parser.add_argument(
        "--translations", type=Path, required=True, metavar="FILE", help="one a line, plain or .gz"
    )
    parser.add_argument(
        "--references",
        type=Path,
        required=True,
        nargs="+",
        action="extend",
        metavar="FILE",
        help="parallel to them",
    )
    parser.add_argument(
        "--target-language", required=True, metavar="CODE", help="language to tokenize for, as de"
    )
    parser.add_argument(
        "--sources", type=Path, metavar="FILE", help="also score by the source's length in words"
    )
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="the scores, as JSON"
    )
    return parser


def main(args: Namespace) -> None:
    translations = list(read_lines(args.translations))
    references = [list(read_lines(path)) for path in args.references]
    check(translations, references, [str(path) for path in (args.translations, *args.references)])
    if args.sources:
        sources = list(read_lines(args.sources))
        check_parallel([(str(args.translations), translations), (str(args.sources), sources)])

    scores = score(translations, references, args.target_language)
    result = {name: asdict(value) for name, value in scores.items()}
    result |= {"sentences": len(translations), "target_language": args.target_language}
    if args.sources:
        lengths = [len(line.split()) for line in sources]
        result["bleu_by_source_length"] = by_source_length(
            translations, references, lengths, SOURCE_LENGTHS
        )
        result["bleu_by_source_rank"] = by_source_rank(translations, references, lengths, PARTS)
    write_json(args.output, result)
    for name, value in scores.items():
        logging.info(f"{name} {value.score:.2f} ({value.signature})")


if __name__ == "__main__":
    run(main, parser())
