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

import torch
from torch import Tensor

from nmt import command
from nmt.data.batches import pad_sources
from nmt.decoding.translator import in_order, translate_tokens
from nmt.errors import UserError
from nmt.files import write_json
from nmt.models.protocol import BOS, EOS
from nmt.serving.folder import TranslationModel

DECIMALS = 5
# Of a sentence: maps grow with the square, and nobody can read larger ones.
MOST_SUBWORDS = 250


def main(args: argparse.Namespace) -> None:
    """Translate the sentence, then compute the attention of its best translation."""
    if args.threads:
        torch.set_num_threads(args.threads)
    model = TranslationModel(args.model, gpus=args.gpus, max_length=MOST_SUBWORDS)
    (source,) = model.encode([args.sentence])
    if not source:
        raise UserError("the sentence is empty: give one with words in it.")
    batches = translate_tokens(model.model, [source], model.experiment.decoding)
    ((best,),) = in_order(batches, 1)
    logging.info(f"{args.sentence} -> {model.decode(best.tokens)}")

    device = next(model.model.parameters()).device
    source_batch = pad_sources([source]).to(device)
    target_in = torch.tensor([[BOS, *best.tokens]]).to(device)
    with torch.inference_mode():
        maps = model.single.attention(source_batch, target_in)
        encoder, decoder = model.single.self_attention_maps(source_batch, target_in)
    attention = {
        "source": model.subwords.source.pieces([*source, EOS]),
        "target": model.subwords.target.pieces([*best.tokens, EOS]),
        "maps": rounded_maps(maps),
        "encoder": rounded_maps(encoder),
        "decoder": rounded_maps(decoder),
    }
    write_json(args.output, attention)


def rounded_maps(maps: dict[str, Tensor]) -> dict[str, list]:
    """Return the maps of the only sentence of a batch as lists."""
    return {name: rounded(weights[0].tolist()) for name, weights in maps.items()}


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
