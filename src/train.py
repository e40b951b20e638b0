"""Train an experiment on a corpus with a seed; go on from where an earlier call was interrupted.

OUTPUT gets training.json (what was done and what it cost), metrics.jsonl and the folder
checkpoints, all at the end. Until then everything is in OUTPUT/state-<fingerprint of configuration
and data>. Once training has begun, a SIGINT, SIGTERM or SIGUSR1 saves the state and ends with exit
code 75: run the same command to go on. Started by torchrun, all its processes train together, each
on a GPU of its own where there are GPUs.
"""

import argparse
import os
from contextlib import nullcontext
from pathlib import Path

from nmt import command

# isort: split
import torch

from nmt.configuration import load_catalog
from nmt.data.batches import Batches
from nmt.data.partition import Partition
from nmt.data.tokens import ParallelTokens
from nmt.models.build import build
from nmt.models.size import size
from nmt.text.preprocessing import Preprocessing
from nmt.text.subwords import SubwordPair
from nmt.training import slurm
from nmt.training.distributed import ProcessGroup, process_group
from nmt.training.loop import Stopped, TrainingLoop
from nmt.training.machine import Machine, least_tokens, made_by
from nmt.training.requirements import require_memory, require_positions
from nmt.training.run_folder import RunFolder
from nmt.training.trainer import Trainer
from nmt.training.validation import Validation

EXIT_STOPPED = 75  # EX_TEMPFAIL of sysexits.h


def main(args: argparse.Namespace) -> int | None:
    """Join the process group, if there is one, and train."""
    with process_group(args.gpus) as group:
        return train(args, group)


def train(args: argparse.Namespace, group: ProcessGroup) -> int | None:
    """Load the experiment and its data, build the model, and run the training loop."""
    catalog = load_catalog(args.catalog)
    experiment = catalog.experiment(args.experiment)
    settings = experiment.training
    torch.set_num_threads(args.threads)
    if settings.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it
        torch.use_deterministic_algorithms(True)

    tokens = ParallelTokens.load(args.tokens, check=group.is_main)  # not by every rank
    batches = Batches.for_training(tokens, settings, args.seed)
    least = least_tokens(group.device, experiment.model)
    partition = Partition.coarsest(
        settings, group.rank, group.world_size, args.device_tokens, least
    )
    subwords = SubwordPair.load(args.subwords)
    vocabulary = catalog.vocabulary(experiment.vocabulary)
    preprocessing = Preprocessing(vocabulary.preprocessing, catalog.corpus(args.corpus).target)
    validation = Validation.load(
        args.dev_tokens,
        args.dev_reference,
        subwords.target,
        preprocessing,
        experiment.decoding.max_extra,
    )

    tokens.require_vocabulary(subwords, args.tokens)
    validation.tokens.require_vocabulary(subwords, args.dev_tokens)
    sizes = (subwords.source.size, subwords.target.size)
    require_memory(size(experiment.model, *sizes).parameters, settings, group.device)
    torch.manual_seed(args.seed)
    model = build(experiment.model, *sizes)
    require_positions(model, validation.batches(), args.dev_tokens)
    machine = Machine.of(group.device, experiment, model)
    trainer = Trainer(model.to(group.device), settings, group, args.seed)

    folder = RunFolder.of(args.output, experiment, tokens, validation.tokens, args.seed)
    loop = TrainingLoop(
        trainer, batches, partition, validation, machine, folder, experiment.peak_learning_rate
    )
    # A GPU that was paid for does not wait for another training to end, and several ranks cannot:
    # torch gives up on those that the first one keeps waiting.
    wait = group.world_size == 1 and group.device.type == "cpu" and not slurm.in_job()
    with folder.opened(wait) if group.is_main else nullcontext():
        group.barrier()
        try:
            counters = loop.run(made_by(group.device, group.world_size))
        except Stopped as stopped:
            if slurm.in_job() and not stopped.by_hand:
                slurm.go_on_later(group)
            return EXIT_STOPPED
        if group.is_main:
            example = validation.example(subwords.source)
            folder.publish(trainer, counters, loop.warn_of_divergence(), example)
    return None


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_experiment(parser)
    parser.add_argument("--corpus", required=True, metavar="NAME", help="an entry of corpora.yaml")
    parser.add_argument("--seed", type=command.whole_number(0), default=1)
    parser.add_argument(
        "--tokens", type=Path, required=True, metavar="FOLDER", help="the training set, binarized"
    )
    parser.add_argument(
        "--dev-tokens", type=Path, required=True, metavar="FOLDER", help="the dev set, binarized"
    )
    parser.add_argument(
        "--dev-reference",
        type=Path,
        required=True,
        metavar="FILE",
        help="the dev set's target text",
    )
    parser.add_argument(
        "--subwords",
        type=Path,
        required=True,
        metavar="FOLDER",
        help="made by learn_vocabulary.py",
    )
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument(
        "--threads",
        type=command.whole_number(1),
        default=torch.get_num_threads(),
        help="CPU threads of each rank",
    )
    command.add_gpus(parser)
    parser.add_argument(
        "--device-tokens",
        type=command.whole_number(0),
        default=0,
        metavar="N",
        help="tokens of a side that a device takes at a time: larger micro-batches are split;"
        " 0: no limit",
    )
    command.run(main, parser)
