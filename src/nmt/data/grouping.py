"""Fewer, larger micro-batches of the same sentences, for devices that small ones do not fill.

The gradient of an update is a sum over its sentences, in whatever micro-batches they are. A GPU
takes as long for few tokens as for some thousands, during which the host launches its kernels, so
that fewer micro-batches take less time, though they have more padding.
"""

import numpy as np

# N sentences, K different lengths


def group(source: np.ndarray, target: np.ndarray, least_tokens: int) -> list[np.ndarray]:
    """Return the groups of sentences that cost least, each as positions in N, by rising length.

    source, target: lengths (N,). A group costs its tokens of both sides, padding included, or
    `least_tokens` where these are fewer. Groups are cut where the longer side's length changes.
    """
    longer = np.maximum(source, target)
    order = np.argsort(longer, kind="stable")
    # Before which positions of `order` the length rises, and the end: (K + 1,)
    rises = np.flatnonzero(np.diff(longer[order])) + 1
    cuts = np.concatenate([[0], rises, [len(order)]])
    # The longest of each side among sentences of each of the K lengths
    longest = [np.maximum.reduceat(side[order], cuts[:-1]) for side in (source, target)]
    least_cost = np.zeros(len(cuts))
    begins = np.zeros(len(cuts), dtype=int)
    for end in range(1, len(cuts)):
        # The groups from each cut to this one
        counts = cuts[end] - cuts[:end]
        widths = sum(np.maximum.accumulate(side[:end][::-1])[::-1] for side in longest)
        costs = least_cost[:end] + np.maximum(counts * widths, least_tokens)
        begins[end] = costs.argmin()
        least_cost[end] = costs.min()
    groups = []
    end = len(cuts) - 1
    while end:
        groups.append(order[cuts[begins[end]] : cuts[end]])
        end = begins[end]
    return groups[::-1]
