"""Averages a run's last checkpoints, or takes its best one, into a model's folder that translate.py
and others use.
"""

import argparse
import logging
from pathlib import Path

import torch

from nmt import command
from nmt.configuration import load_catalog
from nmt.errors import UserError
from nmt.files import read_json
from nmt.models.build import build
from nmt.models.weights import average, require_same_parameters
from nmt.serving.folder import save_model
from nmt.text.subwords import SubwordPair


def main(args: argparse.Namespace) -> None:
    catalog = load_catalog(args.catalog)
    corpus, experiment = catalog.corpus(args.corpus), catalog.experiment(args.experiment)
    best = experiment.training.checkpoint == "best"
    pattern, wanted = ("best-*", 1) if best else ("[0-9]*", experiment.training.average)
    checkpoints = sorted(args.checkpoints.glob(f"{pattern}.safetensors"))[-wanted:]
    if not checkpoints:
        raise UserError(
            f"{args.checkpoints} holds no {'best checkpoint' if best else 'checkpoints'}: train"
            " first."
        )
    if len(checkpoints) < wanted:
        logging.warning(f"only {len(checkpoints)} of {wanted} checkpoints to average are there")
    weights, subwords = average(checkpoints), SubwordPair.load(args.subwords)
    with torch.device("meta"):
        require_same_parameters(
            build(experiment.model, subwords.source.size, subwords.target.size), weights
        )
    save_model(
        args.output,
        weights,
        args.subwords,
        experiment,
        catalog.vocabulary(experiment.vocabulary),
        corpus,
        {"checkpoints": [path.name for path in checkpoints], "training": read_json(args.training)},
    )


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
