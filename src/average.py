"""Average a run's last checkpoints, or take its best one, as the experiment asks for.

OUTPUT becomes a model's folder, which translate.py and others use.
"""

import argparse

import torch

from nmt import command
from nmt.configuration import load_catalog
from nmt.files import read_json
from nmt.models.build import build_uninitialized
from nmt.models.weights import average, require_same_parameters
from nmt.serving.folder import save_model
from nmt.text.subwords import SubwordPair
from nmt.training.run_folder import checkpoints_to_average


def main(args: argparse.Namespace) -> None:
    """Average the checkpoints, check that their shapes are the experiment's, write the folder."""
    catalog = load_catalog(args.catalog)
    corpus = catalog.corpus(args.corpus)
    experiment = catalog.experiment(args.experiment)
    training = read_json(args.training, ["updates", "settings", "made_by"])
    checkpoints = checkpoints_to_average(args.checkpoints, experiment.training, training["updates"])
    weights = average(checkpoints)
    subwords = SubwordPair.load(args.subwords)
    sizes = (subwords.source.size, subwords.target.size)
    model = build_uninitialized(experiment.model, *sizes, torch.device("meta"))
    require_same_parameters(model, weights)
    vocabulary = catalog.vocabulary(experiment.vocabulary)
    provenance = {"checkpoints": [path.name for path in checkpoints], "training": training}
    save_model(args.output, weights, args.subwords, experiment, vocabulary, corpus, provenance)


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_catalog(parser)
    command.require(parser, "NAME", corpus="of corpora.yaml", experiment="of experiments")
    command.require(parser, "FILE", training="training.json of the run")
    command.require(parser, "FOLDER", checkpoints="of the run", output="the model")
    command.require(parser, "FOLDER", subwords="made by learn_vocabulary.py")
    command.run(main, parser)
