"""Score plain, detokenized translations: BLEU in its named variants, chrF2 and TER.

The scores are printed; OUTPUT also has those by the source's length, where sources are given.
"""

import argparse
import logging
from dataclasses import asdict
from functools import partial

from nmt import command
from nmt.evaluation.scores import by_source_length, check_parallel, check_scorable, score
from nmt.evaluation.sentence_bleu import sentence_bleu
from nmt.files import read_lines, write_json
from nmt.text.subwords import Segmenter, SubwordPair

# In words: each bucket goes up to, not including, the next bound; the last one has no end.
SOURCE_LENGTHS = (0, 10, 15, 20, 25, 30, 40, 50)


def main(args: argparse.Namespace) -> None:
    """Score the translations, write the scores as JSON and print them."""
    translations = list(read_lines(args.translations))
    references = [list(read_lines(path)) for path in args.references]
    names = [str(path) for path in (args.translations, *args.references)]
    check_scorable(translations, references, names, args.target_language)
    scores = score(translations, references, args.target_language)
    if args.subwords:
        subwords = partial(split, SubwordPair.load(args.subwords).target)
        scores["sentence_bleu"] = sentence_bleu(translations, references, subwords)
    output: dict = {name: asdict(metric_score) for name, metric_score in scores.items()}
    output |= {"sentences": len(translations), "target_language": args.target_language}
    if args.sources:
        sources = list(read_lines(args.sources))
        check_parallel([(str(args.translations), translations), (str(args.sources), sources)])
        lengths = [len(line.split()) for line in sources]
        texts = translations, references, args.target_language
        output["bleu_by_source_length"] = by_source_length(*texts, lengths, SOURCE_LENGTHS)
    if args.output:
        write_json(args.output, output)
    for name, metric_score in scores.items():
        logging.info(f"{name} {metric_score.score:.2f} ({metric_score.signature})")


def split(subwords: Segmenter, lines: list[str]) -> list[str]:
    """Return the subwords of each line, joined by spaces."""
    return [" ".join(subwords.pieces(ids)) for ids in subwords.encode(lines)]


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FILE", translations="one a line, plain or .gz")
    command.add_references(parser)
    command.offer(parser, "FILE", sources="also score by their length in words")
    command.offer(parser, "FOLDER", subwords="also the mean of sentences' BLEU on these")
    command.offer(parser, "FILE", output="the scores, as JSON")
    command.run(main, parser)
