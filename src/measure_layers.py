"""Measure time and memory of AIAYN's layer types against the length n and the width d.

Rounds are interleaved: each measures every layer at every size once. The output has a line for each
measurement.
"""

import argparse
from pathlib import Path

from nmt import command

# isort: split
import pandas as pd
import torch

from nmt.benchmarks.layer_speed import BATCH, memory, seconds
from nmt.device import choose_device, set_threads
from nmt.files import write_text
from nmt.paper.layer_types import HEADS, LAYER_TYPES
from nmt.progress import progress
from nmt.provenance import commit
from nmt.training.machine import device_name


def main(args: argparse.Namespace) -> None:
    """Measure every layer once a round, and write all measurements."""
    set_threads(args.threads)
    device = choose_device(args.gpus)
    sizes = [(length, args.width) for length in args.lengths]
    sizes += [(args.length, width) for width in args.widths]
    turns = [(name, *size) for size in dict.fromkeys(sizes) for name in LAYER_TYPES]
    bytes_of = {turn: memory(*turn, device) for turn in turns}
    where = {
        "batch": BATCH,
        "device": device_name(device),
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "commit": commit(),
    }
    rows = []
    rounds = [(number, turn) for number in range(1, args.rounds + 1) for turn in turns]
    for number, turn in progress(rounds, "layers", len(rounds), "measurements"):
        name, length, width = turn
        row = {"layer": name, "n": length, "d": width, "round": number}
        rows.append(row | seconds(*turn, device) | bytes_of[turn] | where)
    write_text(args.output, pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))


def width(text: str) -> int:
    """Return a width that the heads of attention divide."""
    value = command.whole_number(1)(text)
    if value % HEADS:
        raise argparse.ArgumentTypeError(f"{value} is no multiple of {HEADS}, the number of heads")
    return value


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    size = command.whole_number(1)
    parser.add_argument("--lengths", type=size, nargs="+", default=[64, 128, 256, 512, 1024])
    parser.add_argument("--width", type=width, default=256, help="of all lengths")
    parser.add_argument("--widths", type=width, nargs="+", default=[64, 128, 256, 512, 1024])
    parser.add_argument("--length", type=size, default=256, help="of all widths")
    parser.add_argument("--rounds", type=size, default=5)
    command.add_threads(parser)
    command.add_gpus(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="CSV")
    command.run(main, parser)
