"""Translate some sentences and write all attention of the model, for the page that shows it.

The sentences are --sentence and the first few of --source that are neither short nor long. OUTPUT
gets {"title": the row's, "sentences": [...]}, as nmt.serving.attention.as_json has them.
"""

import argparse
import json
from itertools import islice
from pathlib import Path

from nmt import command
from nmt.device import set_threads
from nmt.files import read_lines, write_text
from nmt.serving.attention import MOST_SUBWORDS, as_json, attend
from nmt.serving.folder import TranslationModel

SENTENCES = 4  # of the source, beside the given one
WORDS = range(6, 16)  # that a sentence of the source may have


def main(args: argparse.Namespace) -> None:
    """Translate the sentences, one by one, and write what the page needs."""
    set_threads(args.threads)
    model = TranslationModel(args.model, gpus=args.gpus, max_length=MOST_SUBWORDS)
    suitable = (line for line in read_lines(args.source) if len(line.split()) in WORDS)
    beam = model.experiment.decoding.beam
    sentences = dict.fromkeys([args.sentence, *islice(suitable, SENTENCES)])
    recorded = {
        "title": model.experiment.title,
        "sentences": [as_json(model, attend(model, sentence, beam)) for sentence in sentences],
    }
    write_text(args.output, json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_model(parser)
    parser.add_argument("--sentence", required=True, metavar="TEXT", help="in the source language")
    parser.add_argument(
        "--source", type=Path, required=True, metavar="FILE", help="more sentences, one a line"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    command.add_threads(parser)
    command.add_gpus(parser)
    command.run(main, parser)
