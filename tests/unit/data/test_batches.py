"""Which sentences are learned from together, and how processes share them."""

from itertools import islice

import numpy as np
import pytest
import torch

from nmt.data.batches import Batches, Division
from nmt.data.tokens import ParallelTokens, Ragged
from nmt.errors import UserError
from nmt.text.subwords import BOS, EOS, PAD
from nmt.benchmarks.optimizations import REPLACEMENTS

BUDGET = 60
CPU = torch.device("cpu")
LENGTHS = np.array([*range(1, 30), 35, 58])


@pytest.fixture
def tokens() -> ParallelTokens:
    """Sentence n is n + 4 over and over, so that it is known by its tokens."""

    return ParallelTokens(side(LENGTHS), side(np.maximum(LENGTHS - 2, 1)), {})


def side(lengths) -> Ragged:
    return Ragged(np.repeat(np.arange(len(lengths)) + 4, lengths), np.concatenate([[0], np.cumsum(lengths)]))


def shares(tokens, rank=0, processes=1, slices=1, together=1, epoch=1, position=0):
    batches = Batches(tokens, BUDGET, 1, together)
    return list(islice(batches.stream(epoch, position, Division(rank, processes, slices), CPU), 40))


def numbers(part) -> list[int]:
    """Which sentences a part holds; one to be idle with is none."""
    learned = (part.target_out != PAD).any(1)
    return (part.source[learned, 0] - 4).tolist()


@pytest.mark.parametrize("together", [1, 2, 3])
def test_an_epoch_has_every_sentence_once_within_the_budget(tokens, together):
    batches = Batches(tokens, BUDGET, 1, together)
    for epoch in (1, 2):
        updates = batches.epoch(epoch)
        all_batches = [batch for update in updates for batch in update]
        assert sorted(np.concatenate(all_batches)) == list(range(len(LENGTHS)))
        assert {len(update) for update in updates[:-1]} == {together}
        assert len(updates[-1]) <= together
        for batch in map(batches.load, all_batches):
            assert batch.source.numel() <= BUDGET
            assert batch.target_out.numel() <= BUDGET


def test_unsorted_batches_have_the_same_sentences_with_more_padding(tokens, monkeypatch):
    def padding() -> float:
        batches = Batches(tokens, BUDGET, 1)
        chosen = [batch for update in batches.epoch(1) for batch in update]
        assert sorted(np.concatenate(chosen)) == list(range(len(LENGTHS)))
        loaded = [side for batch in map(batches.load, chosen) for side in (batch.source, batch.target_out)]
        padded = sum(int((side == PAD).sum()) for side in loaded) / sum(side.numel() for side in loaded)
        assert batches.padding() == pytest.approx(padded)
        return padded

    least = padding()
    monkeypatch.setattr(*REPLACEMENTS["sorted-batches"])
    assert padding() > least


def test_neighbors_are_alike_on_both_sides():
    source, target = np.divmod(np.arange(100), 10)
    batches = Batches(ParallelTokens(side(source), side(target), {}), BUDGET, 1)
    order = batches.by_length(np.random.default_rng(1).permutation(100))
    assert sorted(order) == list(range(100))
    for lengths in (source, target):
        assert abs(np.diff(lengths[order])).max() == 1


def test_epochs_differ_and_are_the_same_every_time(tokens):
    def order(seed, epoch):
        return [batch.tolist() for (batch,) in Batches(tokens, BUDGET, seed).epoch(epoch)]

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


@pytest.mark.parametrize("together", [1, 2])
@pytest.mark.parametrize(("processes", "slices"), [(1, 1), (1, 3), (2, 2), (2, 4), (3, 3)])
def test_processes_share_every_update(tokens, processes, slices, together):
    split = [shares(tokens, rank, processes, slices, together) for rank in range(processes)]
    for alone, *own in zip(shares(tokens, together=together), *split, strict=True):
        found = {number: part for share in own for number, part in share.parts.items()}
        assert sorted(found) == list(range(together * slices))
        assert sorted(n for part in found.values() for n in numbers(part)) == sorted(alone.sentences)
        for share in own:
            assert (share.source_tokens, share.target_tokens) == (alone.source_tokens, alone.target_tokens)
            assert len(share.parts) == together * slices // processes
        real = sum(int((part.target_out != PAD).sum()) for part in found.values())
        assert real == alone.target_tokens


@pytest.mark.parametrize("together", [1, 2])
def test_positions_are_those_of_all_parts(tokens, together):
    for share in shares(tokens, slices=3, together=together):
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
    with pytest.raises(UserError, match="does not fit batch_tokens 116 in 2 batches: raise it"):
        Batches(tokens, 58, 1, together=2)
