"""Train MarianMT for one epoch with transformers' own Seq2SeqTrainer, on ids in text."""

import argparse
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import MarianMTModel, Seq2SeqTrainer, Seq2SeqTrainingArguments

from nmt import command
from nmt.benchmarks.peers import MAX_TOKENS
from nmt.configuration import Transformer, load_catalog
from nmt.files import read_lines
from nmt.models.protocol import BOS, EOS, PAD
from nmt.serving.marian import marian_config

IGNORED = -100  # the label of padding in transformers' losses


def main(args: argparse.Namespace) -> None:
    """Read the ids, build the model, and train."""
    experiment = load_catalog(args.catalog).experiment(args.experiment)
    assert isinstance(experiment.model, Transformer)  # benchmark_programs.py refuses others
    pairs = list(zip(read_ids(args.source), read_ids(args.target), strict=True))
    longer_sides = [max(len(source), len(target)) for source, target in pairs]
    settings = experiment.training
    trainer = Seq2SeqTrainer(
        MarianMTModel(marian_config(experiment.model, args.vocabulary_size, MAX_TOKENS)),
        Seq2SeqTrainingArguments(
            str(args.output),
            num_train_epochs=1,
            # It counts sentences, not tokens
            per_device_train_batch_size=round(settings.batch_tokens / np.mean(longer_sides)),
            train_sampling_strategy="group_by_length",
            label_smoothing_factor=settings.label_smoothing,
            adam_beta1=settings.adam_betas[0],
            adam_beta2=settings.adam_betas[1],
            max_grad_norm=settings.gradient_clip or 0.0,
            learning_rate=experiment.peak_learning_rate,
            use_cpu=True,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        ),
        train_dataset=[
            {"input_ids": source, "labels": target, "length": length}
            for (source, target), length in zip(pairs, longer_sides, strict=True)
        ],
        data_collator=collate,
    )
    trainer.train()


def read_ids(path: Path) -> list[list[int]]:
    """Return the sentences of a file of ids, each with EOS."""
    return [[*map(int, line.split()), EOS] for line in read_lines(path)]


def collate(pairs: list[dict]) -> dict[str, Tensor]:
    """Return a padded batch."""
    source, labels, target_in = (
        pad_sequence([torch.tensor(sentence) for sentence in sentences], True, padding)
        for sentences, padding in (
            ([pair["input_ids"] for pair in pairs], PAD),
            ([pair["labels"] for pair in pairs], IGNORED),
            ([[BOS, *pair["labels"][:-1]] for pair in pairs], PAD),
        )
    )
    mask = (source != PAD).long()
    return {
        "input_ids": source,
        "attention_mask": mask,
        "decoder_input_ids": target_in,
        "labels": labels,
    }


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_experiment(parser)
    for name in ("source", "target"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FILE", help="ids")
    parser.add_argument("--vocabulary-size", type=command.whole_number(1), required=True)
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    command.run(main, parser)
