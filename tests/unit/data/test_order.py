"""The order of an epoch, against the definitions it is made by."""

import numpy as np
import pytest

from nmt.data.batches import Batches
from nmt.data.order import Epoch, micro_batch_starts
from nmt.data.tokens import ParallelTokens, Ragged


def side(lengths) -> Ragged:
    return Ragged(np.zeros(sum(lengths), np.uint16), np.concatenate([[0], np.cumsum(lengths)]))


def made(pairs: int, longest: int) -> ParallelTokens:
    rng = np.random.default_rng(pairs)
    return ParallelTokens(*(side(rng.integers(0, longest, pairs)) for _ in range(2)), {})


def sorted_indirectly(batches: Batches, indices: np.ndarray) -> np.ndarray:
    source, target = batches.source_lengths[indices], batches.target_lengths[indices]
    longer, difference = np.maximum(source, target), source - target
    return indices[np.lexsort((np.where(longer % 2, difference, -difference), longer))]


def cut_one_by_one(lengths: list[int], budget: int) -> list[int]:
    starts, longest = [0], 0
    for end, length in enumerate(lengths):
        longest = max(longest, length)
        if (end - starts[-1] + 1) * longest > budget:
            starts.append(end)
            longest = length
    return [*starts, len(lengths)]


@pytest.mark.parametrize(("pairs", "longest"), [(1, 3), (2, 3), (500, 4), (3000, 60), (50, 3000)])
def test_sentences_are_sorted_as_indirectly(pairs, longest):
    batches = Batches(made(pairs, longest), budget=5000, seed=1)
    indices = np.random.default_rng(2).permutation(pairs)
    assert batches.by_length(indices).tolist() == sorted_indirectly(batches, indices).tolist()


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("budget", [60, 61, 64, 300, 20_000])
def test_micro_batches_are_cut_as_one_by_one(budget, in_order):
    lengths = np.random.default_rng(budget).integers(1, 60, 1000)
    lengths = np.sort(lengths) if in_order else lengths
    assert micro_batch_starts(lengths, budget).tolist() == cut_one_by_one(lengths.tolist(), budget)
    assert micro_batch_starts(lengths[:1], budget).tolist() == [0, 1]


def test_an_epoch_is_what_the_seed_says():
    """Trained runs rest on it: the permutations are those of numpy's generator, in this order."""
    tokens = made(2000, 60)
    batches = Batches(tokens, 500, 7, per_update=3)
    rng = np.random.default_rng([7, 4])
    indices = sorted_indirectly(batches, rng.permutation(2000))
    starts = cut_one_by_one(np.maximum(*lengths(batches, indices)).tolist(), 500)
    micro_batches = np.split(indices, starts[1:-1])
    expected = [micro_batches[i].tolist() for i in rng.permutation(len(micro_batches))]
    epoch = batches.epoch(4)
    assert [batch.tolist() for update in epoch for batch in update] == expected
    assert len(epoch) == -(-len(expected) // 3)
    assert [len(update) for update in epoch[:2]] == [3, 3]
    with pytest.raises(IndexError):
        epoch[len(epoch)]


def lengths(batches, indices):
    return batches.source_lengths[indices], batches.target_lengths[indices]


def test_no_pairs_are_one_empty_micro_batch():
    assert micro_batch_starts(np.array([], np.uint8), 60).tolist() == [0, 0]
    assert len(Epoch(np.array([]), np.zeros(2, int), np.array([0]), 1)) == 1
