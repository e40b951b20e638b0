"""Measure a model's perplexity on a binarized split.

It is that per subword, with the end of sentence counted and without label smoothing.
"""

import argparse
import logging
import math

from nmt import command
from nmt.data.batches import Batches
from nmt.data.tokens import ParallelTokens
from nmt.decoding.search import diverged
from nmt.files import write_json
from nmt.serving.folder import TranslationModel
from nmt.training.distributed import ProcessGroup
from nmt.training.validation import dev_nll, perplexity


def main(args: argparse.Namespace) -> None:
    """Check that model and split have one vocabulary, measure the loss, and write the result."""
    model = TranslationModel(args.model, gpus=args.gpus)
    tokens = ParallelTokens.load(args.tokens)
    tokens.require_vocabulary(model.subwords, args.tokens)
    # Training may have run in half precision; what is reported is measured in full.
    settings = model.experiment.training.model_copy(update={"precision": "float32"})
    batches = Batches.for_evaluation(tokens)
    group = ProcessGroup(next(model.model.parameters()).device)
    nll = dev_nll(model.single, batches, settings, group)
    if math.isnan(nll):
        raise diverged()
    result = {
        "perplexity": perplexity(nll),
        "nll": nll,
        "tokens": int(batches.target_lengths.sum()),
    }
    write_json(args.output, result)
    logging.info(f"perplexity {result['perplexity']:.5g} over {result['tokens']} tokens")


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.require(parser, "FOLDER", model="made by average.py", tokens="a split's")
    command.require(parser, "FILE", output="perplexity, nll and tokens as JSON")
    command.add_device(parser)
    command.run(main, parser)
