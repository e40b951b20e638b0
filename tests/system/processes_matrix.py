"""Trains every kind of model with 1, 2 and 4 processes, and compares the losses with those of one
process.

Prints a table of the largest differences in 50 updates, in float64, and ends with code 1 when one
is above 1e-6.
"""

import argparse

from nmt import command
from tests.support.families import FAMILIES
from tests.system.learn_in_parts import losses


def main(_: argparse.Namespace) -> int:
    alone, two, four = (losses(processes, 4, FAMILIES) for processes in (1, 2, 4))
    print("| family | 2 processes, 2 parts each | 4 processes, 1 part each |")
    print("|---|---|---|")
    differences = []
    for family in FAMILIES:
        largest = [
            max(abs(a - b) for a, b in zip(alone[family], some[family], strict=True))
            for some in (two, four)
        ]
        print(f"| {family} | {largest[0]:.1e} | {largest[1]:.1e} |", flush=True)
        differences += largest
    print(f"\nLargest difference: {max(differences):.1e}")
    return 0 if all(difference <= 1e-6 for difference in differences) else 1  # NaN is not


if __name__ == "__main__":
    command.run(main, command.arguments(__doc__))
