"""Every family learns to copy and to reverse short sequences it has never seen, within a small
budget.
"""

import numpy as np
import pytest
import torch
from families import sources, target_inputs, target_outputs

from nmt.configuration import (
    GNMT,
    ByteNet,
    ConvS2S,
    DecoderOnly,
    Decoding,
    RNNSearch,
    Seq2Seq,
    Training,
    Transformer,
)
from nmt.data.batches import Batch, UpdateBatch
from nmt.decoding.search import search
from nmt.models.build import build
from nmt.models.protocol import EOS, PAD
from nmt.training.distributed import ProcessGroup
from nmt.training.schedule import learning_rate
from nmt.training.trainer import Trainer

WORDS, LONGEST = 10, 5
TASKS = {"copy": lambda tokens: tokens, "reverse": lambda tokens: tokens[::-1]}
# model, updates, peak of the learning rate
LEARNERS = {
    "transformer": (Transformer(layers=1, d_model=64, d_ff=128, heads=4, dropout=0.0), 300, 0.004),
    "decoder-only": (
        DecoderOnly(layers=2, d_model=64, d_ff=128, heads=4, dropout=0.0, norm="pre"),
        300,
        0.004,
    ),
    "rnnsearch": (RNNSearch(d_embedding=32, d_hidden=64, dropout=0.0, init_std=0.1), 250, 0.005),
    "rnnencdec": (
        RNNSearch(d_embedding=32, d_hidden=128, dropout=0.0, attention="none", init_std=None),
        600,
        0.006,
    ),
    "seq2seq": (Seq2Seq(layers=1, d_embedding=48, d_hidden=128, dropout=0.0), 600, 0.006),
    "luong": (
        Seq2Seq(
            layers=1,
            d_embedding=32,
            d_hidden=64,
            dropout=0.0,
            attention="global",
            score="general",
            input_feeding=True,
            reverse_source=False,
        ),
        300,
        0.008,
    ),
    "gnmt": (GNMT(layers=3, d_model=48, dropout=0.0, init_range=0.3), 400, 0.008),
    "moe": (
        GNMT(
            layers=2,
            d_model=48,
            dropout=0.0,
            init_range=0.3,
            experts=4,
            experts_used=2,
            d_expert=32,
        ),
        400,
        0.008,
    ),
    "convs2s": (
        ConvS2S(
            encoder=[(48, 3, 2)], decoder=[(48, 3, 2)], d_embedding=48, d_output=48, dropout=0.0
        ),
        300,
        0.004,
    ),
    "bytenet": (ByteNet(d_hidden=48, sets=1, dilations=(1, 2), kernel=5, dropout=0.0), 600, 0.004),
}


def random_sequences(count: int, seed: int) -> list[list[int]]:
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, LONGEST + 1, (count,), generator=generator).tolist()
    return [
        torch.randint(EOS + 1, EOS + 1 + WORDS, (n,), generator=generator).tolist() for n in lengths
    ]


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("family", LEARNERS)
def test_learns(family, task):
    config, updates, peak = LEARNERS[family]
    training = Training(
        updates=updates,
        batch_tokens=64 * LONGEST,
        interval=updates,
        warmup=50,
        schedule="cosine",
        peak_learning_rate=peak,
        final_learning_rate=0,
        label_smoothing=0,
        gradient_clip=1.0,
    )
    torch.manual_seed(1)
    model = build(config, EOS + 1 + WORDS, EOS + 1 + WORDS)
    trainer = Trainer(model, training, ProcessGroup(torch.device("cpu")), seed=1)
    for update in range(1, updates + 1):
        given = random_sequences(64, seed=update)
        wanted = [TASKS[task](tokens) for tokens in given]
        target = target_outputs(wanted)
        batch = Batch(sources(given), target_inputs(wanted), target)
        update_batch = UpdateBatch(
            1, update, np.arange(64), 0, int((target != PAD).sum()), 0, {0: batch}
        )
        trainer.train_step(update_batch, learning_rate(update, training, peak), update)
    model.eval()
    seen = {
        tuple(tokens)
        for update in range(1, updates + 1)
        for tokens in random_sequences(64, seed=update)
    }
    unseen = [tokens for tokens in random_sequences(1000, seed=0) if tuple(tokens) not in seen][
        :200
    ]
    assert len(unseen) == 200
    found = search(model, sources(unseen), [2 * LONGEST] * len(unseen), Decoding(beam=1))
    right = sum(
        best.tokens == TASKS[task](tokens) for (best,), tokens in zip(found, unseen, strict=True)
    )
    assert right / len(unseen) > 0.99
