"""Translate one sentence and write the model's attention to it.

There is attention for every subword of the model's own translation. OUTPUT gets {"source":
subwords, "target": subwords, "maps": {name: [heads][target][source]}, "encoder": {name:
[heads][source][source]}, "decoder": {name: [heads][target][target]}}, </s> at the end of both
sides. "decoder" is self-attention among the subwords that the decoder reads: <s> and then the
target without its </s>. Each is {} for a model without such attention. Of a
longer sentence the first 250 subwords are used.
"""

import argparse
import logging
from pathlib import Path

from nmt import command

# isort: split
from torch import Tensor

from nmt.device import set_threads
from nmt.files import write_json
from nmt.serving.attention import CROSS, DECODER, ENCODER, MOST_SUBWORDS, all_attention, attend
from nmt.serving.folder import TranslationModel

DECIMALS = 5


def main(args: argparse.Namespace) -> None:
    """Translate the sentence, then compute the attention of its best translation."""
    set_threads(args.threads)
    model = TranslationModel(args.model, gpus=args.gpus, max_length=MOST_SUBWORDS)
    attended = attend(model, args.sentence)
    logging.info(f"{args.sentence} -> {model.decode(attended.best.tokens)}")
    maps = all_attention(model, attended)
    attention = {
        "source": attended.source,
        "target": attended.target,
        "maps": rounded_maps(maps.get(CROSS, {})),
        "encoder": rounded_maps(maps.get(ENCODER, {})),
        "decoder": rounded_maps(maps.get(DECODER, {})),
    }
    write_json(args.output, attention)


def rounded_maps(maps: dict[str, Tensor]) -> dict[str, list]:
    """Return the maps as lists."""
    return {name: rounded(weights.tolist()) for name, weights in maps.items()}


def rounded(heads: list[list[list[float]]]) -> list[list[list[float]]]:
    """Return the weights [heads][target][source] with DECIMALS decimals."""
    return [[[round(weight, DECIMALS) for weight in row] for row in head] for head in heads]


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_model(parser)
    parser.add_argument("--sentence", required=True, metavar="TEXT", help="in the source language")
    parser.add_argument(
        "--output", type=Path, required=True, metavar="FILE", help="subwords and maps as JSON"
    )
    command.add_threads(parser)
    command.add_gpus(parser)
    command.run(main, parser)
