"""Sentences sorted by length and cut into micro-batches of a token budget."""

import numpy as np

# n sentences


def by_length(indices: np.ndarray, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """Return the sentences' indices sorted by the length of the longer side.

    Among sentences that are equal in it, the difference between the sides rises at odd lengths and
    falls at even ones, so that neighbors have similar lengths on both sides. Among sentences equal
    in both lengths, the order stays. source, target: the lengths of all sentences.
    """
    source, target = source[indices], target[indices]
    longer = np.maximum(source, target)
    difference = np.where(longer % 2, source - target, target - source)
    return indices[np.lexsort((difference, longer))]


def cut(lengths: np.ndarray, budget: int) -> list[int]:
    """Return where each micro-batch begins, and where the last one ends.

    Each has as many sentences as the budget allows when all are as long as the longest, and at
    least one. lengths: of the sentences in order, (n,).
    """
    starts = [0]
    while starts[-1] < len(lengths):
        start = starts[-1]
        window = lengths[start : start + max(1, budget // int(lengths[start]))]
        tokens = np.maximum.accumulate(window) * np.arange(1, len(window) + 1)
        starts.append(start + max(1, int(np.searchsorted(tokens, budget, side="right"))))
    return starts
