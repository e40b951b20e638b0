"""The cost of a training as AIAYN estimates it: time multiplied by the device's sustained rate."""

import re

# Sustained single-precision rates in FLOP/s that AIAYN's estimate rests on (section 6.1,
# footnote 5).
SUSTAINED_RATES = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}


def sustained_flops(seconds: float, device: str) -> float | None:
    """Return AIAYN's estimate (section 6.1): training time times the device's sustained rate.

    None for a device whose rate AIAYN does not give.
    """
    words = re.split("[^A-Za-z0-9]", device)
    for model, rate in SUSTAINED_RATES.items():
        if model in words:
            return seconds * rate
    return None
