"""Measure whole training programs on the same tokens: this project, fairseq, transformers' Trainer.

Each trains a row's Transformer with its own loading, batches, optimizer and logging. Two epochs
less one are measured, so that starting, ending and the first updates do not count.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import THIS, Row, add_rows, again, arguments, compare, read_rows
from peers import MAX_TOKENS, is_comparable

from nmt import command
from nmt.data.batches import Batches
from nmt.errors import UserError
from nmt.files import write_lines
from nmt.models.protocol import PAD
from nmt.provenance import REPOSITORY

FAIRSEQ = "import sys, peers; peers.import_fairseq(); from fairseq_cli import {0}; {0}.cli_main()"


def main(args: argparse.Namespace) -> None:
    """Measure every program."""
    rows = read_rows(args)
    for row in rows.values():
        if not is_comparable(row.experiment.model):
            raise UserError(f"{row.name} is not AIAYN's Transformer, which all programs have.")
    pythons = {THIS: sys.executable} | dict.fromkeys(args.peers, args.peers_python)
    commands = {(row, by): again(row, by, python) for row in rows for by, python in pythons.items()}
    programs = {THIS: run_this, "fairseq": run_fairseq, "transformers": run_trainer}

    def measured(name: str, version: str) -> dict[str, float]:
        with tempfile.TemporaryDirectory() as folder:
            once, twice = (programs[version](args, rows[name], n, Path(folder)) for n in (1, 2))
        tokens = rows[name].tokens().target
        target_tokens = len(tokens.tokens) + len(tokens.lengths)
        return {"target tokens/s": target_tokens / (twice - once), "starting (s)": 2 * once - twice}

    compare(args, commands, measured)


def seconds_of(words: list, folder: Path, args: argparse.Namespace) -> float:
    """Return how long a program takes; raises UserError with its last words when it fails."""
    environment = os.environ | {"PYTHONPATH": f"{REPOSITORY}/src:{REPOSITORY}/benchmarks"}
    environment["OMP_NUM_THREADS"] = str(args.threads)
    if args.device == "cpu":
        environment["CUDA_VISIBLE_DEVICES"] = ""
    begun = time.perf_counter()
    process = subprocess.run(
        words, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if process.returncode:
        raise UserError(f"a program failed: {(process.stdout + process.stderr).strip()[-500:]}")
    return time.perf_counter() - begun


def run_this(args: argparse.Namespace, row: Row, epochs: int, folder: Path) -> float:
    """Return the seconds of train.py, which looks at the dev set once, at the end."""
    batches = Batches.for_training(row.tokens(), row.experiment.training, seed=1)
    updates = epochs * len(batches.epoch(1))
    keys = f"average-1+bleu_interval-0+interval-{updates}+updates-{updates}"
    options = {
        "catalog": args.catalog.resolve(),
        "experiment": f"{row.name}+{keys}",
        "corpus": row.corpus,
        "tokens": row.folder / "tokens" / "train",
        "dev-tokens": row.folder / "tokens" / "dev",
        "dev-reference": row.dev_reference,
        "subwords": row.folder / "subwords",
        "output": folder / f"run-{epochs}",
        "threads": args.threads,
    }
    words = [f"--{name}={value}" for name, value in options.items()]
    return seconds_of([sys.executable, REPOSITORY / "src" / "train.py", *words], folder, args)


def run_fairseq(args: argparse.Namespace, row: Row, epochs: int, folder: Path) -> float:
    """Return the seconds of fairseq-train, for which each subword is a word."""
    model, training = row.experiment.model, row.experiment.training
    if epochs == 1:
        tokens = row.tokens()
        for side, sentences in {"source": tokens.source, "target": tokens.target}.items():
            lines = (" ".join(f"w{token}" for token in sentences[i]) for i in range(len(tokens)))
            write_lines(folder / f"train.{side}", lines)
        size = tokens.meta["vocabulary_sizes"][0]
        write_lines(folder / "words", (f"w{token} 1" for token in range(4, size)))  # 4 are special
        options = "--source-lang source --target-lang target --trainpref train --srcdict words"
        options += " --joined-dictionary --destdir data"
        seconds_of(fairseq("preprocess", options), folder, args)
    options = f"data --arch transformer --share-all-embeddings --dropout {model.dropout}"
    for side in ("encoder", "decoder"):
        options += f" --{side}-layers {model.layers} --{side}-embed-dim {model.d_model}"
        options += f" --{side}-ffn-embed-dim {model.d_ff} --{side}-attention-heads {model.heads}"
    options += f" --criterion label_smoothed_cross_entropy --lr {row.experiment.peak_learning_rate}"
    options += f" --label-smoothing {training.label_smoothing} --optimizer adam"
    options += f" --clip-norm {training.gradient_clip or 0} --max-tokens {training.batch_tokens}"
    options += " --required-batch-size-multiple 1 --num-workers 0 --no-save --disable-validation"
    options += f" --no-progress-bar --max-epoch {epochs}" + " --cpu" * (args.device == "cpu")
    return seconds_of(fairseq("train", options), folder, args)


def fairseq(program: str, options: str) -> list[str]:
    """Return how one of fairseq's programs is called, which Python 3.11 does not start itself."""
    return [sys.executable, "-c", FAIRSEQ.format(program), *options.split()]


def run_trainer(args: argparse.Namespace, row: Row, epochs: int, folder: Path) -> float:
    """Return the seconds of transformers' Trainer, which counts sentences, not tokens."""
    import torch
    from transformers import MarianMTModel, Seq2SeqTrainer, Seq2SeqTrainingArguments

    from nmt.serving.marian import marian_config

    torch.set_num_threads(args.threads)
    training, tokens = row.experiment.training, row.tokens()
    batches = Batches.for_training(tokens, training, seed=1)

    def collate(pairs: list[dict]) -> dict:
        batch = batches.load(np.array([pair["index"] for pair in pairs]))
        return {
            "input_ids": batch.source.tokens,
            "attention_mask": (batch.source.tokens != PAD).long(),
            "decoder_input_ids": batch.target.tokens,
            "labels": batch.target_out.masked_fill(batch.target_out == PAD, -100),
        }

    arguments = Seq2SeqTrainingArguments(
        str(folder / "trainer"),
        num_train_epochs=epochs,
        per_device_train_batch_size=round(training.batch_tokens / batches.longer_sides.mean()),
        train_sampling_strategy="group_by_length",
        label_smoothing_factor=training.label_smoothing,
        max_grad_norm=training.gradient_clip or 0.0,
        learning_rate=row.experiment.peak_learning_rate,
        remove_unused_columns=False,
        use_cpu=args.device == "cpu",
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    size = tokens.meta["vocabulary_sizes"][0]
    model = MarianMTModel(marian_config(row.experiment.model, size, MAX_TOKENS))
    pairs = [{"input_ids": tokens.source[i], "index": i} for i in range(len(tokens))]
    begun = time.perf_counter()
    Seq2SeqTrainer(model, arguments, train_dataset=pairs, data_collator=collate).train()
    return time.perf_counter() - begun


if __name__ == "__main__":
    parser = arguments(__doc__)
    add_rows(parser)
    command.run(main, parser)
