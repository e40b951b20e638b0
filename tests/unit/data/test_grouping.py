"""Groups of sentences: the cheapest there are."""

import itertools

import numpy as np
import pytest

from nmt.data.grouping import group


def cost(groups, source, target, least_tokens):
    """Return the tokens that groups cost."""
    return sum(
        max(len(part) * (source[part].max() + target[part].max()), least_tokens) for part in groups
    )


@pytest.mark.parametrize("least_tokens", [1, 20, 60, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_groups_cost_least(seed, least_tokens):
    rng = np.random.default_rng(seed)
    source, target = rng.integers(1, 9, (2, 12))
    groups = group(source, target, least_tokens)
    assert sorted(np.concatenate(groups).tolist()) == list(range(12))
    # All ways to cut the sentences, sorted by length, where the length rises
    longer = np.maximum(source, target)
    order = np.argsort(longer, kind="stable")
    rises = [i for i in range(1, 12) if longer[order[i]] > longer[order[i - 1]]]
    cuts = itertools.chain.from_iterable(
        itertools.combinations(rises, count) for count in range(len(rises) + 1)
    )
    least = min(cost(np.split(order, list(cut)), source, target, least_tokens) for cut in cuts)
    assert cost(groups, source, target, least_tokens) == least


def test_a_device_that_nothing_fills_gets_one_group():
    lengths = np.array([3, 1, 2])
    assert [part.tolist() for part in group(lengths, lengths, 100)] == [[1, 2, 0]]
