"""Which sentences an update learns from, and how ranks divide them."""

from itertools import islice

import numpy as np
import pytest
import torch

from nmt.configuration import Training
from nmt.data.batches import Batches, Partition
from nmt.data.packing import Packing
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.errors import UserError
from nmt.text.subwords import BOS, EOS, PAD
from tests.support.families import parallel_tokens

BUDGET = 60
CPU = torch.device("cpu")
LENGTHS = np.array([*range(1, 30), 35, 58])


@pytest.fixture
def tokens() -> ParallelTokens:
    """Return sentences of which number n is n + 4 over and over: tokens tell which it is."""

    def side(lengths) -> Ragged:
        return Ragged(np.repeat(np.arange(len(lengths)) + 4, lengths), np.cumsum([0, *lengths]))

    return ParallelTokens(side(LENGTHS), side(np.maximum(LENGTHS - 2, 1)), {})


def updates(tokens, rank=0, world_size=1, chunks=1, per_update=1, epoch=1, update_in_epoch=0):
    batches = Batches(tokens, BUDGET, 1, per_update)
    partition = Partition(rank, world_size, chunks)
    return list(islice(batches.stream(epoch, update_in_epoch, partition, CPU), 40))


def indices(batch) -> list[int]:
    """Return the sentences of a micro-batch."""
    return (batch.source.tokens[:, 0] - 4).tolist()


def test_an_update_of_several_micro_batches_learns_from_mixed_lengths():
    """One micro-batch has sentences of nearly one length: an update of it alone would be biased."""
    lengths = np.random.default_rng(1).integers(1, 50, 2000)
    tokens = parallel_tokens(lengths, lengths)
    updates = Batches(tokens, 200, seed=1, per_update=4).epoch(1)[:-1]
    within_micro_batches = [np.ptp(lengths[batch]) for update in updates for batch in update]
    within_updates = [np.ptp(lengths[np.concatenate(update)]) for update in updates]
    assert np.max(within_micro_batches) < 10
    assert np.median(within_updates) > 20


def test_batches_of_sentences_have_so_many_at_random():
    lengths = np.sort(np.random.default_rng(1).integers(1, 50, 200))
    tokens = parallel_tokens(lengths, lengths)
    settings = {"updates": 9, "warmup": 1, "interval": 9}
    training = Training(batch_sentences=36, micro_batches=3, **settings)
    batches = Batches.for_training(tokens, training, seed=1)
    updates = batches.epoch(1)
    assert [[len(batch) for batch in update] for update in updates[:-1]] == 5 * [[12, 12, 12]]
    assert sorted(np.concatenate([*map(np.concatenate, updates)])) == list(range(200))
    assert min(np.ptp(lengths[np.concatenate(update)]) for update in updates[:-1]) > 30
    within_micro_batches = [np.ptp(lengths[batch]) for update in updates[:-1] for batch in update]
    assert np.median(within_micro_batches) < 20
    whole = next(batches.updates(1, 0, Partition(), CPU))
    limited = Partition(chunks=-(-batches.budget // 300))
    for partition in (limited, Partition(packing=Packing.of(50))):
        divided = next(batches.updates(1, 0, partition, CPU))
        assert sorted(divided.sentences) == sorted(whole.sentences)
        tokens_of = [int((b.target_out != PAD).sum()) for b in divided.micro_batches.values()]
        assert sum(tokens_of) == whole.target_tokens
    pieces = next(batches.updates(1, 0, limited, CPU)).micro_batches.values()
    assert max(batch.target_out.numel() for batch in pieces) <= 300


def test_a_stream_begun_in_the_middle_goes_on_as_a_whole_one(tokens):
    whole = updates(tokens)
    for begun in (3, 17):
        last = whole[begun - 1]
        for ours, theirs in zip(
            updates(tokens, epoch=last.epoch, update_in_epoch=last.update_in_epoch),
            whole[begun:],
            strict=False,
        ):
            assert (ours.epoch, ours.update_in_epoch) == (theirs.epoch, theirs.update_in_epoch)
            batch, expected = ours.micro_batches[0], theirs.micro_batches[0]
            assert torch.equal(batch.source.tokens, expected.source.tokens)
            assert torch.equal(batch.target.tokens, expected.target.tokens)


@pytest.mark.parametrize("per_update", [1, 2])
@pytest.mark.parametrize(("world_size", "chunks"), [(1, 1), (1, 3), (2, 2), (2, 4), (3, 3)])
def test_ranks_divide_every_update(tokens, world_size, chunks, per_update):
    ranks = [updates(tokens, rank, world_size, chunks, per_update) for rank in range(world_size)]
    alone = updates(tokens, 0, 1, chunks, per_update)
    whole = updates(tokens, per_update=per_update)
    for together, expected, *divided in zip(whole, alone, *ranks, strict=True):
        micro_batches = {i: batch for own in divided for i, batch in own.micro_batches.items()}
        assert micro_batches.keys() == expected.micro_batches.keys()
        for number, batch in micro_batches.items():
            assert torch.equal(batch.target.tokens, expected.micro_batches[number].target.tokens)
        sentences = [n for batch in micro_batches.values() for n in indices(batch)]
        assert sorted(sentences) == sorted(together.sentences)
        for own in divided:
            assert own.source_tokens == together.source_tokens
            assert own.target_tokens == together.target_tokens
            assert len(own.micro_batches) <= per_update * chunks // world_size
        real = sum(int((batch.target_out != PAD).sum()) for batch in micro_batches.values())
        assert real == together.target_tokens


def test_a_target_stands_between_its_begin_and_its_end(tokens):
    batch = Batches(tokens, BUDGET, seed=1).load(np.array([4, 2]))
    assert batch.source.lengths.tolist() == [6, 4]
    assert batch.source.tokens.tolist() == [[8, 8, 8, 8, 8, EOS], [6, 6, 6, EOS, PAD, PAD]]
    assert batch.target.tokens.tolist() == [[BOS, 8, 8, 8], [BOS, 6, PAD, PAD]]
    assert batch.target_out.tolist() == [[8, 8, 8, EOS], [6, EOS, PAD, PAD]]


def test_a_sentence_over_the_budget_is_refused(tokens):
    with pytest.raises(UserError, match="59 tokens does not fit batch_tokens 58"):
        Batches(tokens, 58, seed=1)
