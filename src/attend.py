"""Translate sentences and record all attention of the model, for figures and for the explorer.

The sentences are --sentence and the first few of --source that are neither short nor long. OUTPUT
gets {"title": the experiment's, "sentences": [...]}, each as nmt.serving.attention.attend has it,
with its "reference" where that is known. Of a longer sentence the first 250 subwords are used.
"""

import argparse
import json
from itertools import islice

from nmt import command
from nmt.files import read_lines, write_text
from nmt.serving.attention import MOST_SUBWORDS, attend
from nmt.serving.folder import TranslationModel
from nmt.text.readers import pair_lines

SENTENCES = 4  # of the source, beside the given one
WORDS = range(6, 16)  # that a sentence of the source may have


def main(args: argparse.Namespace) -> None:
    """Translate the sentences, one by one, and write what figures and page need."""
    model = TranslationModel(args.model, gpus=args.gpus, max_length=MOST_SUBWORDS)
    lines = list(read_lines(args.source)) if args.source else []
    reference_of = {}
    if args.references:
        references = read_lines(args.references)
        reference_of = dict(pair_lines(lines, references, str(args.source), str(args.references)))
    suitable = (line for line in lines if len(line.split()) in WORDS)
    sentences = dict.fromkeys([args.sentence, *islice(suitable, SENTENCES)])
    attended = [attend(model, it) | {"reference": reference_of.get(it)} for it in sentences]
    recorded = {"title": model.experiment.title, "sentences": attended}
    write_text(args.output, json.dumps(recorded, ensure_ascii=False, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FOLDER", model="made by average.py")
    command.require(parser, "TEXT", sentence="in the source language")
    command.require(parser, "FILE", output="JSON")
    command.offer(parser, "FILE", source="more sentences, one a line", references="of --source")
    command.add_device(parser)
    command.run(main, parser)
