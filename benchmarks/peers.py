"""Other toolkits' Transformers, to be trained beside ours on the same batches.

Model and loss are the toolkit's own, with its defaults but for sizes, Post-LN, one table for all
embeddings, and dropout only where the paper has it. Toolkits are imported when they are used.
"""

import dataclasses
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from nmt.configuration import Experiment, Model, Transformer
from nmt.data.batch import Batch, UpdateBatch
from nmt.data.batches import Batches, Partition
from nmt.data.tokens import ParallelTokens
from nmt.device import autocast
from nmt.models.protocol import EOS, PAD
from nmt.text.subwords import UNK
from nmt.training.machine import AUTOCAST, GPU_LEAST_TOKENS

Loss = Callable[[Batch], Tensor]  # summed over target tokens, label smoothing included
MAX_TOKENS = 512  # of a sentence


def is_comparable(config: Model) -> bool:
    """Return whether all toolkits can build the model: AIAYN's Transformer of any size."""
    paper = {"norm": "post", "activation": "relu", "positions": "sinusoidal", "tie": "all"}
    return isinstance(config, Transformer) and all(
        getattr(config, key) == value for key, value in paper.items()
    )


def fairseq(config: Transformer, vocabulary_size: int, smoothing: float) -> tuple[nn.Module, Loss]:
    """Return fairseq's Transformer with random weights, and its loss."""
    import_fairseq()
    from fairseq.criterions.label_smoothed_cross_entropy import label_smoothed_nll_loss
    from fairseq.data import Dictionary
    from fairseq.models.transformer import TransformerConfig, TransformerModelBase

    settings = TransformerConfig(dropout=config.dropout, share_all_embeddings=True)
    for side in (settings.encoder, settings.decoder):
        side.embed_dim = config.d_model
        side.ffn_embed_dim = config.d_ff
        side.layers = config.layers
        side.attention_heads = config.heads
    settings.decoder.input_dim = config.d_model
    settings.decoder.output_dim = config.d_model
    dictionary = Dictionary()  # has four special tokens, of other numbers than ours
    for token in range(len(dictionary), vocabulary_size):
        dictionary.add_symbol(str(token))
    dictionary.pad_index, dictionary.unk_index, dictionary.eos_index = PAD, UNK, EOS
    task = SimpleNamespace(source_dictionary=dictionary, target_dictionary=dictionary)
    model = TransformerModelBase.build_model(settings, task)

    def loss(batch: Batch) -> Tensor:
        source = batch.source.tokens
        logits, _ = model(source, (source != PAD).sum(1), batch.target.tokens)
        log_probs = model.get_normalized_probs((logits, None), log_probs=True).flatten(0, 1)
        targets = batch.target_out.flatten()[:, None]
        return label_smoothed_nll_loss(log_probs, targets, smoothing, ignore_index=PAD)[0]

    return model, loss


def import_fairseq() -> None:
    """Import fairseq although its dataclasses have other dataclass objects as defaults.

    Since Python 3.11, dataclasses accept such defaults only when they have a hash.
    """
    original = dataclasses.dataclass

    def hashable(cls=None, **options):
        if cls is None:
            return lambda decorated: hashable(decorated, **options)
        return original(cls, **{"unsafe_hash": True, **options})

    dataclasses.dataclass = hashable
    import fairseq.criterions.label_smoothed_cross_entropy
    import fairseq.models.transformer  # noqa: F401

    dataclasses.dataclass = original


def transformers(
    config: Transformer, vocabulary_size: int, smoothing: float
) -> tuple[nn.Module, Loss]:
    """Return transformers' MarianMT with random weights, and torch's loss, smoothed."""
    from transformers import MarianMTModel

    from nmt.serving.marian import marian_config

    model = MarianMTModel(marian_config(config, vocabulary_size, MAX_TOKENS))

    def loss(batch: Batch) -> Tensor:
        mask = (batch.source.tokens != PAD).long()
        logits = model(batch.source.tokens, mask, batch.target.tokens, use_cache=False).logits
        return F.cross_entropy(
            logits.flatten(0, 1),
            batch.target_out.flatten(),
            ignore_index=PAD,
            label_smoothing=smoothing,
            reduction="sum",
        )

    return model, loss


def train_step(
    toolkit: str, experiment: Experiment, vocabulary_size: int, device: torch.device
) -> Callable[[UpdateBatch, int], None]:
    """Return a toolkit's update; Adam, clipping and autocast are torch's for all of them."""
    settings = experiment.training
    build = {"fairseq": fairseq, "transformers": transformers}[toolkit]
    assert isinstance(experiment.model, Transformer)
    model, loss = build(experiment.model, vocabulary_size, settings.label_smoothing)
    parameters = list(model.to(device).train().parameters())
    optimizer = torch.optim.Adam(parameters, lr=1e-4, betas=settings.adam_betas, fused=True)

    def step(batch: UpdateBatch, _: int) -> None:
        for micro_batch in batch.micro_batches.values():
            with autocast(device, AUTOCAST[settings.precision]):
                total = loss(micro_batch)
            (total / batch.target_tokens).backward()
        limit = settings.gradient_clip or float("inf")
        nn.utils.clip_grad_norm_(parameters, limit)
        optimizer.step()
        optimizer.zero_grad()

    return step


def padded(
    experiment: Experiment, tokens: ParallelTokens, device: torch.device
) -> Iterator[UpdateBatch]:
    """Yield an experiment's updates without end, one sentence a row, as toolkits take them."""
    batches = Batches.for_training(tokens, experiment.training, seed=1)
    partition = Partition(least_tokens=GPU_LEAST_TOKENS if device.type == "cuda" else 0)
    return batches.stream(1, 0, partition, device)
