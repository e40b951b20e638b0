"""AIAYN's own account of what a training costs: time times a device's rate."""

import re

# Sustained single-precision rates in FLOP/s that AIAYN's own account rests on (section 6.1,
# footnote 5).
SUSTAINED_RATES = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}


def sustained_flops(seconds: float, device: str) -> float | None:
    """AIAYN's own account (section 6.1): training time times the device's sustained rate; None for
    one not in it.
    """
    words = re.split("[^A-Za-z0-9]", device)
    return next((seconds * rate for name, rate in SUSTAINED_RATES.items() if name in words), None)
