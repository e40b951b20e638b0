"""Tables of measured speed."""

import pandas as pd

from nmt.benchmarks.report import markdown, ratio, rounds

RATES = {"this": [110.0, 90.0, 120.0], "other": [100.0, 100.0, 80.0]}


def measured() -> pd.DataFrame:
    """Return the measurements of three interleaved rounds."""
    records = [
        ("row", version, rates[number]) for number in range(3) for version, rates in RATES.items()
    ]
    table = pd.DataFrame(records, columns=["experiment", "version", "target_tokens_per_second"])
    phases = dict.fromkeys(("data", "forward", "backward", "optimizer"), 1.0)
    return table.assign(padding=0.01, mfu=0.5, memory=1e9, **phases)


def test_rounds_are_compared_with_their_own():
    rates = rounds(measured(), "version", "target_tokens_per_second")
    assert {name: list(rates[name]) for name in rates} == RATES
    assert ratio(rates["this"], rates["other"]) == "1.10 (0.90 to 1.50)"


def test_a_line_has_the_median_and_the_range():
    header, _, line = markdown(measured(), "About.").splitlines()[:3]
    names = [name.strip() for name in header.split("|")[1:-1]]
    values = [value.strip() for value in line.split("|")[1:-1]]
    cells = dict(zip(names, values, strict=True))
    assert cells["experiment"] == "row"
    assert cells["target tokens/s"] == "110 (90 to 120)"
    assert cells["to other"] == "1.10 (0.90 to 1.50)"
    assert cells["MFU"] == "50.0%"
