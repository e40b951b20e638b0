"""Trains one row on one corpus with one seed; goes on from where an earlier call was interrupted.

OUTPUT gets training.json (what was done and what it cost), metrics.jsonl and the folder checkpoints, all at the
end. Until then everything is in OUTPUT/state-<fingerprint of configuration and data>. Once training has begun, a
SIGINT, SIGTERM or SIGUSR1 saves the state and ends with exit code 75: run the same command to go on. Started by
torchrun, all its processes train together, each on a GPU of its own where there are GPUs.
"""

import argparse
import logging
import os
import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

import torch
from sacrebleu.metrics import BLEU

from nmt import command
from nmt.configuration import Decoding, Experiment, load_catalog
from nmt.data.batches import Batches, Division
from nmt.data.tokens import ParallelTokens
from nmt.decoding.translator import translate_tokens
from nmt.errors import UserError
from nmt.files import read_lines, remove, write_json, written_whole
from nmt.models.build import build
from nmt.models.protocol import Model
from nmt.models.size import count, size
from nmt.provenance import commit
from nmt.text.preprocessing import Preprocessing
from nmt.text.subwords import SubwordPair
from nmt.training.trainer import Learner
from nmt.training.loop import Stopped, checkpoints, train
from nmt.training.machine import Machine, device_name
from nmt.training.distributed import Processes, joined
from nmt.training.requirements import require_memory, require_positions
from nmt.training.schedule import paper_peak
from nmt.training.state import Counters, fingerprint, locked, record_settings

GO_ON_LATER = 75  # EX_TEMPFAIL of sysexits.h


def main(args: argparse.Namespace) -> int | None:
    with joined() as processes:
        return train_together(args, processes)


def train_together(args: argparse.Namespace, processes: Processes) -> int | None:
    catalog = load_catalog(args.catalog)
    corpus, experiment = catalog.corpus(args.corpus), catalog.experiment(args.experiment)
    vocabulary = catalog.vocabulary(experiment.vocabulary)
    torch.set_num_threads(args.threads)
    if experiment.training.deterministic:
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it cuBLAS is none of them
        torch.use_deterministic_algorithms(True)

    tokens, dev_tokens = ParallelTokens.load(args.tokens), ParallelTokens.load(args.dev_tokens)
    subwords = SubwordPair.load(args.subwords)
    batches = Batches.of(tokens, experiment.training, args.seed)
    dev = Batches.for_evaluation(dev_tokens)
    sizes = (subwords.source.size, subwords.target.size)
    require_memory(size(experiment.model, *sizes).parameters, processes.device)
    torch.manual_seed(args.seed)
    model = build(experiment.model, *sizes)
    require_positions(model, dev, args.dev_tokens)
    machine = Machine.of(processes.device, experiment, model)
    model.to(processes.device)
    learner = Learner(model, experiment.training, processes, args.seed)
    references = list(read_lines(args.dev_reference))
    if len(references) != len(dev_tokens.source):
        raise UserError(
            f"{args.dev_reference} has {len(references)} lines, {args.dev_tokens} {len(dev_tokens.source)} sentences: "
            "give the text that these were made from."
        )
    text = Preprocessing(vocabulary, corpus.target)

    def dev_bleu() -> float:
        """sacreBLEU of greedy translations of the dev set, without case where the vocabulary has none."""
        found = {}
        for numbers, hypotheses in translate_tokens(model, sources, Decoding(beam=1)):
            texts = (text.undo(subwords.target.decode(best.tokens)) for (best,) in hypotheses)
            found.update(zip(numbers, texts, strict=True))
        translations = [found[number] for number in range(len(sources))]
        return BLEU(lowercase=vocabulary.lowercase).corpus_score(translations, [references]).score

    sources = [dev_tokens.source[number].tolist() for number in range(len(dev_tokens.source))]
    data = {"seed": args.seed, "tokens": tokens.meta["fingerprint"], "dev": dev_tokens.meta["fingerprint"]}
    settings = {"model": experiment.model.model_dump(), "training": experiment.training.model_dump()} | data
    name = fingerprint({"model": experiment.model.chosen(), "training": experiment.training.chosen()} | data)
    folder = args.output / f"state-{name[:12]}"
    # Several processes cannot wait: torch gives up on those that the first one keeps waiting.
    with locked(folder, wait=processes.size == 1) if processes.first else nullcontext():
        if processes.first:
            for leftover in [*folder.rglob(".*.partial"), *args.output.glob(".*.partial")]:
                remove(leftover)  # of a call that was killed while it wrote
            record_settings(folder, settings)
        processes.wait()
        division = Division.coarsest(experiment.training, processes.rank, processes.size, args.device_tokens)
        try:
            counters = train(
                learner, peak(experiment), batches, division, dev, dev_bleu, machine, folder, name, made_by(processes)
            )
        except Stopped as stopped:
            logging.info(stopped)
            return GO_ON_LATER
        if processes.first:
            finish(args.output, folder, model, counters, settings)


def peak(experiment: Experiment) -> float:
    if experiment.training.peak_learning_rate is not None:
        return experiment.training.peak_learning_rate
    return paper_peak(experiment.model.d_model, experiment.training.warmup)


def made_by(processes: Processes) -> dict:
    return {
        "command": shlex.join(sys.argv),
        "commit": commit(),
        "device": device_name(processes.device),
        "processes": processes.size,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
    }


def finish(output: Path, folder: Path, model: Model, counters: Counters, settings: dict) -> None:
    """Gives the checkpoints (as hard links), the metrics and training.json their places, training.json last."""
    with written_whole(output / "checkpoints") as beside:
        beside.mkdir()
        for path in checkpoints(folder) + checkpoints(folder, "best-*")[-1:]:
            os.link(path, beside / path.name)
    with written_whole(output / "metrics.jsonl") as beside:
        beside.write_bytes((folder / "metrics.jsonl").read_bytes())
    write_json(
        output / "training.json",
        {
            "updates": counters.update,
            "epochs": counters.epoch,
            "source_tokens": counters.source_tokens,
            "target_tokens": counters.target_tokens,
            "flops": counters.flops,
            "seconds": round(counters.seconds, 1),
            "device_seconds": round(counters.device_seconds, 1),
            "cpu_seconds": round(counters.cpu_seconds, 1),
            "skipped_updates": counters.skipped,
            "best_dev_nll": counters.best_dev_nll,
            "parameters": count(model).parameters,
            "made_by": counters.made_by,
            "settings": settings,
        },
    )


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--catalog", type=Path, default=Path("config"), metavar="FOLDER")
    parser.add_argument("--corpus", required=True, metavar="NAME", help="an entry of corpora.yaml")
    parser.add_argument("--experiment", required=True, metavar="NAME", help="an entry of experiments.yaml")
    parser.add_argument("--seed", type=command.whole_number(0), default=1)
    parser.add_argument("--tokens", type=Path, required=True, metavar="FOLDER", help="the training set, binarized")
    parser.add_argument("--dev-tokens", type=Path, required=True, metavar="FOLDER", help="the dev set, binarized")
    parser.add_argument("--dev-reference", type=Path, required=True, metavar="FILE", help="the dev set's target text")
    parser.add_argument("--subwords", type=Path, required=True, metavar="FOLDER", help="made by learn_vocabulary.py")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--threads", type=command.whole_number(1), default=torch.get_num_threads(), help="a process")
    parser.add_argument(
        "--device-tokens",
        type=command.whole_number(0),
        default=0,
        metavar="N",
        help="tokens of a side that a device takes at a time: a larger batch is learned from in parts; 0: no limit",
    )
    command.run(main, parser)
