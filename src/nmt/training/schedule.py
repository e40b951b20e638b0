"""The learning rate: AIAYN section 5.3, and the schedules of its rivals. Updates count from 1."""

import math

import numpy as np

from nmt.configuration import Training


def learning_rate(update: int, training: Training, peak: float) -> float:
    """Linear to `peak` in the warm-up, then as the schedule says (see Training)."""
    if update < training.warmup:
        return peak * update / training.warmup
    match training.schedule:
        case "inverse_sqrt":
            return peak * (training.warmup / update) ** 0.5
        case "cosine":
            done = (update - training.warmup) / max(1, training.updates - training.warmup)
            last = training.final_learning_rate
            return last + (peak - last) * (1 + math.cos(math.pi * done)) / 2
        case "halving":
            halvings = (
                0
                if update < training.halve_from
                else 1 + (update - training.halve_from) // training.halve_every
            )
            return peak * 0.5**halvings
        case "constant":
            return peak


def source_weight(update: int, points: tuple[tuple[int, float], ...]) -> float:
    """Linear between the points (update, weight), constant before and after them; 0 without any."""
    return float(np.interp(update, *zip(*points, strict=True))) if points else 0.0
