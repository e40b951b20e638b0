"""Train an experiment on a corpus with a seed; go on from where an earlier call was interrupted.

OUTPUT gets training.json (what was done and what it cost), metrics.jsonl and the folder
checkpoints, all at the end. Until then everything is in OUTPUT/state-<fingerprint of configuration
and data>. Once training has begun, a SIGINT, SIGTERM, SIGHUP or SIGUSR1 saves the state and ends
with exit code 75: run the same command to go on. Started by torchrun, or by srun in a SLURM job,
all its processes train together, each on a GPU of its own where there are GPUs.
"""

import argparse
import logging
from contextlib import nullcontext

import torch

from nmt import command
from nmt.configuration import load_catalog
from nmt.data.batches import Batches
from nmt.data.tokens import ParallelTokens
from nmt.device import enough_memory
from nmt.models.build import build
from nmt.text.preprocessing import Preprocessing
from nmt.text.subwords import SubwordPair
from nmt.training import stopping
from nmt.training.distributed import ProcessGroup, process_group
from nmt.training.loop import TrainingLoop, resume
from nmt.training.machine import Machine, made_by, partition_for
from nmt.training.run_folder import RunFolder
from nmt.training.state import initialize
from nmt.training.trainer import Trainer
from nmt.training.validation import Validation

EXIT_STOPPED = 75  # EX_TEMPFAIL of sysexits.h
REMEDY = "give train.py --device-tokens, or the experiment smaller batches"


def main(args: argparse.Namespace) -> int | None:
    """Join the process group, if there is one, and train."""
    with process_group(args.gpus) as group, enough_memory("an update or the dev set", REMEDY):
        return train(args, group)


def train(args: argparse.Namespace, group: ProcessGroup) -> int | None:
    """Load the experiment and its data, build the model, and run the training loop."""
    catalog = load_catalog(args.catalog)
    experiment = catalog.experiment(args.experiment)
    settings = experiment.training
    subwords = SubwordPair.load(args.subwords)
    vocabulary = catalog.vocabulary(experiment.vocabulary)
    preprocessing = Preprocessing(vocabulary.preprocessing, catalog.corpus(args.corpus).target)

    tokens = ParallelTokens.load(args.tokens, check=group.is_main)  # not by every rank
    tokens.require_vocabulary(subwords, args.tokens)
    dev = (args.dev_tokens, args.dev_reference, subwords, preprocessing)
    validation = Validation(tokens, *dev, experiment.decoding)
    batches = Batches.for_training(tokens, settings, args.seed)
    partition = partition_for(batches, experiment, group, args.device_tokens)
    packed = bool(args.compile and partition.packing)
    if packed:
        logging.info("the first update takes up to a minute more: it is compiled for this GPU.")

    torch.manual_seed(args.seed)
    model = build(experiment.model, subwords.source.size, subwords.target.size)
    machine = Machine.of(group.device, experiment, model)
    trainer = Trainer(model.to(group.device), settings, group, args.seed, packed)
    identity = {
        "seed": args.seed,
        "tokens": tokens.fingerprint,
        "dev": validation.tokens.fingerprint,
    }
    if args.initialize_from:
        start = initialize(model, experiment, subwords, args.initialize_from)
        identity["initialize_from"] = start
    folder = RunFolder(args.output, experiment, identity)
    with folder.opened() if group.is_main else nullcontext():
        group.barrier()
        counters = resume(trainer, folder, made_by(group.device, group.world_size))
        stream = batches.stream(counters.epoch, counters.update_in_epoch, partition, group.device)
        try:
            TrainingLoop(trainer, stream, validation, machine, folder, counters).run()
        except stopping.Stopped as stopped:
            if stopping.in_job() and not stopped.by_hand:
                stopping.go_on_later(group)
            return EXIT_STOPPED
        if group.is_main:
            folder.publish(trainer, counters)
    return None


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_catalog(parser)
    command.require(parser, "NAME", corpus="of corpora.yaml", experiment="of experiments")
    parser.add_argument("--seed", type=command.whole_number(0), default=1)
    command.require(parser, "FOLDER", tokens="the training set", dev_tokens="the dev set")
    command.require(parser, "FILE", dev_reference="the dev set's target text")
    command.require(parser, "FOLDER", subwords="made by learn_vocabulary.py", output="the run")
    command.offer(parser, "FOLDER", initialize_from="a model")
    command.add_device(parser)
    parser.add_argument(
        "--device-tokens",
        type=command.whole_number(0),
        default=0,
        metavar="N",
        help="tokens of a side that a device takes at a time: larger micro-batches are split;"
        " 0: no limit",
    )
    parser.add_argument(
        "--compile",
        type=int,
        choices=(0, 1),
        default=1,
        help="whether what a GPU computes of packed sentences is compiled",
    )
    command.run(main, parser)
