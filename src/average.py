"""Average a run's last checkpoints, or take its best one, as the row asks for.

OUTPUT becomes a model's folder, which translate.py and others use.
"""

import argparse
import logging
from pathlib import Path

import torch

from nmt import command
from nmt.configuration import Training, load_catalog
from nmt.errors import UserError
from nmt.files import read_json
from nmt.models.build import build
from nmt.models.weights import average, require_same_parameters
from nmt.serving.folder import save_model
from nmt.text.subwords import SubwordPair


def main(args: argparse.Namespace) -> None:
    """Average the checkpoints, check that they are the row's, and write the folder."""
    catalog = load_catalog(args.catalog)
    corpus = catalog.corpus(args.corpus)
    experiment = catalog.experiment(args.experiment)
    checkpoints = checkpoints_to_average(args.checkpoints, experiment.training)
    weights = average(checkpoints)
    subwords = SubwordPair.load(args.subwords)
    with torch.device("meta"):
        model = build(experiment.model, subwords.source.size, subwords.target.size)
    require_same_parameters(model, weights)
    vocabulary = catalog.vocabulary(experiment.vocabulary)
    provenance = {
        "checkpoints": [path.name for path in checkpoints],
        "training": read_json(args.training),
    }
    save_model(args.output, weights, args.subwords, experiment, vocabulary, corpus, provenance)


def checkpoints_to_average(folder: Path, training: Training) -> list[Path]:
    """Return the last checkpoints that the row averages, or its best one.

    Raises UserError when there is none, and warns when there are too few.
    """
    best = training.checkpoint == "best"
    pattern = "best-*" if best else "[0-9]*"
    count = 1 if best else training.average
    checkpoints = sorted(folder.glob(f"{pattern}.safetensors"))[-count:]
    if not checkpoints:
        kind = "best checkpoint" if best else "checkpoints"
        raise UserError(f"{folder} holds no {kind}: train first.")
    if len(checkpoints) < count:
        logging.warning(f"only {len(checkpoints)} of {count} checkpoints to average are there")
    return checkpoints


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--catalog", type=Path, default=Path("config"), metavar="FOLDER")
    parser.add_argument("--corpus", required=True, metavar="NAME", help="an entry of corpora.yaml")
    parser.add_argument(
        "--experiment", required=True, metavar="NAME", help="a row of config/experiments"
    )
    parser.add_argument("--checkpoints", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--training", type=Path, required=True, metavar="FILE", help="training.json of the run"
    )
    parser.add_argument(
        "--subwords", type=Path, required=True, metavar="FOLDER", help="made by learn_vocabulary.py"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    command.run(main, parser)
