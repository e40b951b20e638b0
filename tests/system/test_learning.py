"""Every family learns to reverse short sequences that training did not hold."""

import numpy as np
import pytest
import torch

from nmt.configuration import Decoding, Training
from nmt.data.batch import Batch, UpdateBatch
from nmt.decoding.search import search
from nmt.models.build import build
from nmt.models.protocol import EOS, PAD
from nmt.training.distributed import ProcessGroup
from nmt.training.schedule import learning_rate
from nmt.training.trainer import Trainer
from tests.support.families import FAMILIES, sources, target_inputs, target_outputs

WORDS = 10  # in the vocabulary
LONGEST = 5  # words of a sequence
BATCH = 64  # sequences
# Updates and peak of the learning rate of RNNs
WITH_ATTENTION = (300, 0.008)
WITHOUT_ATTENTION = (600, 0.006)
# What differs from the small models of FAMILIES, updates, peak of the learning rate
LEARNERS = {
    "transformer": ({"layers": 1, "d_model": 64, "d_ff": 128}, 300, 0.004),
    "decoder-only": ({"d_model": 64, "d_ff": 128, "norm": "pre"}, 300, 0.004),
    # LSTMs have the updates and the rates of the GRUs, with attention and without.
    "rnnsearch": ({"d_embedding": 32, "d_hidden": 64, "init_std": 0.1}, *WITH_ATTENTION),
    "rnnencdec": ({"d_embedding": 32, "d_hidden": 128, "init_std": None}, *WITHOUT_ATTENTION),
    "seq2seq-orthogonal": (
        {"layers": 1, "d_embedding": 48, "d_hidden": 128},
        *WITHOUT_ATTENTION,
    ),
    "luong-general-feeding": (
        {"layers": 1, "d_embedding": 32, "d_hidden": 64, "reverse_source": False},
        *WITH_ATTENTION,
    ),
    "gnmt": ({"d_model": 48, "init_range": 0.3}, 250, 0.008),
    "moe": ({"d_model": 48, "d_cell": None, "d_expert": 32, "init_range": 0.3}, 250, 0.008),
    "convs2s": (
        {"encoder": [(48, 3, 2)], "decoder": [(48, 3, 2)], "d_embedding": 48, "d_output": 48},
        200,
        0.004,
    ),
    "bytenet": ({"d_hidden": 48}, 500, 0.004),
}


def random_sequences(count: int, seed: int) -> list[list[int]]:
    """Return sequences of 1 to LONGEST random words."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, LONGEST + 1, (count,), generator=generator).tolist()
    return [
        torch.randint(EOS + 1, EOS + 1 + WORDS, (length,), generator=generator).tolist()
        for length in lengths
    ]


def unseen_sequences(count: int, updates: int) -> list[list[int]]:
    """Return random sequences of which none was in the batch of an update."""
    seen = set()
    for update in range(1, updates + 1):
        seen.update(map(tuple, random_sequences(BATCH, seed=update)))
    sequences = random_sequences(1000, seed=0)
    unseen = [tokens for tokens in sequences if tuple(tokens) not in seen][:count]
    assert len(unseen) == count
    return unseen


def training_batch(update: int) -> UpdateBatch:
    """Return the batch of an update."""
    inputs = random_sequences(BATCH, seed=update)
    outputs = [tokens[::-1] for tokens in inputs]
    batch = Batch(sources(inputs), target_inputs(outputs), target_outputs(outputs))
    target_tokens = int((batch.target_out != PAD).sum())
    return UpdateBatch(1, update, np.arange(BATCH), 0, target_tokens, {0: batch})


@pytest.mark.parametrize("family", LEARNERS)
def test_learns_to_reverse(family):
    changes, updates, peak = LEARNERS[family]
    config = FAMILIES[family].changed(dropout=0.0, **changes)
    training = Training(
        updates=updates,
        batch_tokens=BATCH * LONGEST,
        interval=updates,
        warmup=50,
        schedule="cosine",
        peak_learning_rate=peak,
        final_learning_rate=0,
        label_smoothing=0,
        gradient_clip=1.0,
    )
    torch.manual_seed(1)
    vocabulary_size = EOS + 1 + WORDS
    model = build(config, vocabulary_size, vocabulary_size)
    trainer = Trainer(model, training, ProcessGroup(torch.device("cpu")), seed=1)
    for update in range(1, updates + 1):
        rate = learning_rate(update, training, peak)
        trainer.train_step(training_batch(update), rate, update)
    model.eval()
    unseen = unseen_sequences(200, updates)
    hypotheses = search(model, sources(unseen), [2 * LONGEST] * len(unseen), Decoding(beam=1))
    correct = sum(
        best.tokens == tokens[::-1] for (best,), tokens in zip(hypotheses, unseen, strict=True)
    )
    assert correct / len(unseen) >= 0.98
