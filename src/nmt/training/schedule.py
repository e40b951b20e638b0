"""The learning rate: AIAYN section 5.3."""


def learning_rate(update: int, warmup: int, peak: float) -> float:
    """Linear to `peak` in `warmup` updates, then with the inverse square root of the update (counted from 1)."""
    return peak * min(update / warmup, (warmup / update) ** 0.5)


def paper_peak(d_model: int, warmup: int) -> float:
    """The peak that makes it equation 3: d_model^-0.5 * min(update^-0.5, update * warmup^-1.5)."""
    return (d_model * warmup) ** -0.5
