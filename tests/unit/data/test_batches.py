"""Which sentences are learnt from together, and how processes share them."""

from itertools import islice

import numpy as np
import pytest
import torch

from nmt.data.batches import Batches, Division
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.errors import UserError
from nmt.text.subwords import BOS, EOS, PAD

BUDGET = 60
CPU = torch.device("cpu")
LENGTHS = np.array([*range(1, 30), 35, 58])


@pytest.fixture
def tokens() -> ParallelTokens:
    """Sentence n is n + 4 over and over, so that it is known by its tokens."""

    def side(lengths) -> Ragged:
        return Ragged(np.repeat(np.arange(len(lengths)) + 4, lengths), np.concatenate([[0], np.cumsum(lengths)]))

    return ParallelTokens(side(LENGTHS), side(np.maximum(LENGTHS - 2, 1)), {})


def shares(tokens, rank=0, processes=1, parts=1, epoch=1, position=0):
    stream = Batches(tokens, BUDGET, seed=1).stream(epoch, position, Division(rank, processes, parts), CPU)
    return list(islice(stream, 40))


def numbers(part) -> list[int]:
    """Which sentences a part holds; one to be idle with is none."""
    learnt = (part.target_out != PAD).any(1)
    return (part.source[learnt, 0] - 4).tolist()


def test_an_epoch_has_every_sentence_once_within_the_budget(tokens):
    batches = Batches(tokens, BUDGET, seed=1)
    for epoch in (1, 2):
        assert sorted(np.concatenate(batches.epoch(epoch))) == list(range(len(LENGTHS)))
        for batch in map(batches.load, batches.epoch(epoch)):
            assert batch.source.numel() <= BUDGET
            assert batch.target_out.numel() <= BUDGET


def test_epochs_differ_and_are_the_same_every_time(tokens):
    def order(seed, epoch):
        return [batch.tolist() for batch in Batches(tokens, BUDGET, seed).epoch(epoch)]

    assert order(1, 1) == order(1, 1)
    assert order(1, 1) != order(1, 2)
    assert order(1, 1) != order(2, 1)


def test_a_stream_begun_in_the_middle_goes_on_as_a_whole_one(tokens):
    whole = shares(tokens)
    for begun in (3, 17):
        last = whole[begun - 1]
        for ours, theirs in zip(shares(tokens, epoch=last.epoch, position=last.position), whole[begun:], strict=False):
            assert (ours.epoch, ours.position) == (theirs.epoch, theirs.position)
            assert torch.equal(ours.parts[0].source, theirs.parts[0].source)
            assert torch.equal(ours.parts[0].target_in, theirs.parts[0].target_in)


@pytest.mark.parametrize(("processes", "parts"), [(1, 1), (1, 3), (2, 2), (2, 4), (3, 3)])
def test_processes_share_every_batch(tokens, processes, parts):
    together = [shares(tokens, rank, processes, parts) for rank in range(processes)]
    for alone, *split in zip(shares(tokens), *together, strict=True):
        found = {number: part for share in split for number, part in share.parts.items()}
        assert sorted(found) == list(range(parts))
        assert sorted(n for part in found.values() for n in numbers(part)) == sorted(alone.sentences)
        for share in split:
            assert (share.source_tokens, share.target_tokens) == (alone.source_tokens, alone.target_tokens)
            assert len(share.parts) == parts // processes
        real = sum(int((part.target_out != PAD).sum()) for part in found.values())
        assert real == alone.target_tokens


def test_positions_are_those_of_all_parts(tokens):
    for share in shares(tokens, parts=3):
        real = [part for part in share.parts.values() if numbers(part)]
        assert share.positions == sum(part.source.numel() + part.target_out.numel() for part in real)


def test_a_target_stands_between_its_begin_and_its_end(tokens):
    batch = Batches(tokens, BUDGET, seed=1).load(np.array([4, 2]))
    assert batch.source.tolist() == [[8, 8, 8, 8, 8, EOS], [6, 6, 6, EOS, PAD, PAD]]
    assert batch.target_in.tolist() == [[BOS, 8, 8, 8], [BOS, 6, PAD, PAD]]
    assert batch.target_out.tolist() == [[8, 8, 8, EOS], [6, EOS, PAD, PAD]]


def test_a_sentence_over_the_budget_is_refused(tokens):
    with pytest.raises(UserError, match="a sentence of 59 tokens does not fit batch_tokens 58: raise it"):
        Batches(tokens, 58, seed=1)
