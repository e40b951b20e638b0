"""Measure the norm of each layer's gradient, of a model before its training and after it."""

import argparse

import torch

from nmt import command
from nmt.data.tokens import ParallelTokens
from nmt.files import write_json
from nmt.models.build import build
from nmt.serving.folder import TranslationModel
from nmt.training.gradients import gradient_norms


def main(args: argparse.Namespace) -> None:
    """Measure both on the same batch, and write the norms by layer."""
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
    command.require(parser, "FOLDER", model="made by average.py", tokens="its training set's")
    parser.add_argument("--seed", type=command.whole_number(0), default=1, help="of the training")
    command.require(parser, "FILE", output="JSON")
    command.add_device(parser)
    command.run(main, parser)
