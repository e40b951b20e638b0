"""The order of an epoch, against the definitions it is made by."""

import numpy as np
import pytest

from nmt.data.batches import Batches, by_length, cut
from tests.support.families import parallel_tokens


def cut_one_by_one(lengths: list[int], budget: int) -> list[int]:
    starts, longest = [0], 0
    for end, length in enumerate(lengths):
        longest = max(longest, length)
        if (end - starts[-1] + 1) * longest > budget:
            starts.append(end)
            longest = length
    return [*starts, len(lengths)]


def test_neighbors_are_alike_on_both_sides():
    source, target = np.divmod(np.arange(100), 10)
    order = by_length(np.random.default_rng(1).permutation(100), source, target)
    assert sorted(order) == list(range(100))
    for lengths in (source, target):
        assert abs(np.diff(lengths[order])).max() == 1


@pytest.mark.parametrize("in_order", [True, False])
@pytest.mark.parametrize("budget", [60, 61, 64, 300, 20_000])
def test_micro_batches_are_cut_as_one_by_one(budget, in_order):
    lengths = np.random.default_rng(budget).integers(1, 60, 1000)
    lengths = np.sort(lengths) if in_order else lengths
    assert cut(lengths, budget) == cut_one_by_one(lengths.tolist(), budget)
    assert cut(lengths[:1], budget) == [0, 1]


def test_a_sentence_over_the_budget_is_alone():
    assert cut(np.array([3, 3, 9, 9]), 6) == [0, 2, 3, 4]


def test_an_epoch_is_what_the_seed_says():
    """Trained runs rest on it: the permutations are those of numpy's generator, in this order."""
    rng = np.random.default_rng(2000)
    source, target = rng.integers(1, 60, (2, 2000))
    batches = Batches(parallel_tokens(source - 1, target - 1), 500, 7, per_update=3)
    rng = np.random.default_rng([7, 4])
    indices = by_length(rng.permutation(2000), source, target)
    starts = cut_one_by_one(np.maximum(source, target)[indices].tolist(), 500)
    micro_batches = np.split(indices, starts[1:-1])
    expected = [micro_batches[i].tolist() for i in rng.permutation(len(micro_batches))]
    epoch = batches.epoch(4)
    assert [batch.tolist() for update in epoch for batch in update] == expected
    assert {len(update) for update in epoch[:-1]} == {3}
    assert len(epoch) == -(-len(expected) // 3)
