"""Measure the norm of each layer's gradient, of a model before its training and after it."""

import argparse
from pathlib import Path

import torch

from nmt import command
from nmt.data.tokens import ParallelTokens
from nmt.device import set_threads
from nmt.files import write_json
from nmt.models.build import build
from nmt.serving.folder import TranslationModel
from nmt.training.gradients import gradient_norms


def main(args: argparse.Namespace) -> None:
    """Measure both on the same batch, and write the norms by layer."""
    set_threads(args.threads)
    trained = TranslationModel(args.model, gpus=args.gpus)
    tokens = ParallelTokens.load(args.tokens)
    tokens.require_vocabulary(trained.subwords, args.tokens)
    settings = trained.experiment.training
    torch.manual_seed(args.seed)  # as train.py: the weights that this training began with
    untrained = build(trained.experiment.model, *tokens.meta["vocabulary_sizes"])
    untrained = untrained.to(next(trained.single.parameters()).device)
    norms = {
        "untrained": gradient_norms(untrained, tokens, settings, args.seed),
        "trained": gradient_norms(trained.single, tokens, settings, args.seed),
    }
    write_json(args.output, norms)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_model(parser)
    parser.add_argument(
        "--tokens", type=Path, required=True, metavar="FOLDER", help="the training set, binarized"
    )
    parser.add_argument("--seed", type=command.whole_number(0), default=1, help="of the training")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="JSON")
    command.add_threads(parser)
    command.add_gpus(parser)
    command.run(main, parser)
