"""The learning rate: AIAYN section 5.3, and the baselines' schedules. Updates count from 1."""

import math

import numpy as np

from nmt.configuration import Training


def learning_rate(update: int, training: Training, peak: float) -> float:
    """Return the rate of an update: linear to `peak` in the warm-up, then as the schedule says.

    The schedules are described in nmt.configuration.Training.
    """
    if update < training.warmup:
        return peak * update / training.warmup
    match training.schedule:
        case "inverse_sqrt":
            return peak * (training.warmup / update) ** 0.5
        case "cosine":
            end = training.cosine_updates or training.updates
            progress = (update - training.warmup) / max(1, end - training.warmup)
            final = training.final_learning_rate
            assert final is not None  # the configuration sees to that
            return final + (peak - final) * (1 + math.cos(math.pi * progress)) / 2
        case "halving":
            first, interval = training.halve_from, training.halve_every
            assert first is not None  # the configuration sees to both
            assert interval is not None
            return peak * 0.5 ** max(0, 1 + (update - first) // interval)
        case "constant":
            return peak


def source_weight(update: int, points: tuple[tuple[int, float], ...]) -> float:
    """Return the weight of the source's loss, given by points (update, weight).

    It is linear between the points, constant before and after them, and 0 without any.
    """
    if not points:
        return 0.0
    updates, weights = zip(*points, strict=True)
    return float(np.interp(update, updates, weights))
