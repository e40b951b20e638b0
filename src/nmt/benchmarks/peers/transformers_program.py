"""Train MarianMT for one epoch with Seq2SeqTrainer, whose batches are of like source lengths."""

import argparse
from pathlib import Path

import numpy as np
from transformers import MarianMTModel, Seq2SeqTrainer, Seq2SeqTrainingArguments

from nmt import command
from nmt.benchmarks.peers import MAX_TOKENS, comparable_model
from nmt.configuration import load_catalog
from nmt.data.batches import Batches
from nmt.data.tokens import ParallelTokens
from nmt.models.protocol import PAD
from nmt.serving.marian import marian_config

IGNORED = -100  # the label of padding in transformers' losses


def main(args: argparse.Namespace) -> None:
    """Load the tokens, build the model, and train."""
    experiment = load_catalog(args.catalog).experiment(args.experiment)
    model = comparable_model(experiment.model, args.experiment)
    settings = experiment.training
    tokens = ParallelTokens.load(args.tokens)
    batches = Batches.for_training(tokens, settings, seed=1)

    def collate(pairs: list[dict]) -> dict:
        batch = batches.load(np.array([pair["index"] for pair in pairs]))
        return {
            "input_ids": batch.source.tokens,
            "attention_mask": (batch.source.tokens != PAD).long(),
            "decoder_input_ids": batch.target_in,
            "labels": batch.target_out.masked_fill(batch.target_out == PAD, IGNORED),
        }

    arguments = Seq2SeqTrainingArguments(
        str(args.output),
        num_train_epochs=1,
        # It counts sentences, not tokens
        per_device_train_batch_size=round(settings.batch_tokens / batches.longer_sides.mean()),
        train_sampling_strategy="group_by_length",
        label_smoothing_factor=settings.label_smoothing,
        adam_beta1=settings.adam_betas[0],
        adam_beta2=settings.adam_betas[1],
        max_grad_norm=settings.gradient_clip or 0.0,
        learning_rate=experiment.peak_learning_rate,
        remove_unused_columns=False,
        use_cpu=True,
        save_strategy="no",
        report_to="none",
        disable_tqdm=True,
    )
    pairs = [{"input_ids": tokens.source[i], "index": i} for i in range(len(tokens))]
    marian = MarianMTModel(marian_config(model, tokens.meta["vocabulary_sizes"][0], MAX_TOKENS))
    Seq2SeqTrainer(marian, arguments, train_dataset=pairs, data_collator=collate).train()


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_experiment(parser)
    for name in ("tokens", "output"):
        parser.add_argument(f"--{name}", type=Path, required=True, metavar="FOLDER")
    command.run(main, parser)
