"""Check what training and search do on this machine's GPU, in order of worth; write one table.

The gradient of every family against the CPU's, states loaded bit for bit, speed of large models at
their own batch by the size of groups, with the roofline's prediction, beam search, and the time of
kernels. The table is written after every line, so that whatever ends the command leaves what was
known. Without a GPU all of it runs on the CPU.
"""

import argparse
import os
import time
from dataclasses import asdict
from pathlib import Path

from nmt import command

# isort: split
import pandas as pd
import torch

from nmt.benchmarks.gpu_checks import Row, Workload, checks
from nmt.configuration import load_catalog
from nmt.device import choose_device
from nmt.files import write_text
from nmt.planning.roofline import GPUS
from nmt.planning.texts import Texts
from nmt.provenance import commit
from nmt.training.machine import device_name

# The GPUs of the data sheets, as torch names them; a PCIe card or half the memory is another.
DATA_SHEETS = {
    "NVIDIA A100-SXM4-80GB": "a100",
    "NVIDIA H100 80GB HBM3": "h100",
    "NVIDIA H200": "h200",
}


def main(args: argparse.Namespace) -> int:
    """Run the checks until the time is over; return 1 if one of them failed."""
    end = time.monotonic() + 60 * args.minutes
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # cuBLAS asks for it
    catalog = load_catalog(args.catalog)
    device = choose_device(args.gpus)
    name = device_name(device)
    work = Workload(
        families=[catalog.experiment(name) for name in args.families],
        large=[catalog.experiment(name) for name in args.large],
        texts=Texts(Path("made"), (args.vocabulary, args.vocabulary), 256),
        device=device,
        predicted_for=GPUS[DATA_SHEETS[name]] if name in DATA_SHEETS else None,
        sentences=args.sentences,
        seconds=args.seconds,
    )
    rows: list[Row] = []
    for row in checks(work):
        rows.append(row)
        table = pd.DataFrame([asdict(row) for row in rows]).to_markdown(index=False)
        about = f"{name}, torch {torch.__version__}, commit {commit()}"
        write_text(args.output, f"{table}\n\n{about}\n")
        if time.monotonic() > end:
            break
    print(args.output.read_text(encoding="utf-8"), end="")
    return int(any(row.state not in ("", "right", "same") for row in rows))


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--catalog", type=Path, default=Path("config"), metavar="FOLDER")
    parser.add_argument(
        "--minutes",
        type=command.number(0),
        default=8,
        help="start no check after this many minutes",
    )
    families = "transformer decoder-only seq2seq luong rnnsearch rnnencdec gnmt moe convs2s bytenet"
    parser.add_argument(
        "--families",
        nargs="+",
        metavar="NAME",
        default=[f"demo-small-{family}" for family in families.split()],
        help="small experiments whose gradients and states are checked",
    )
    parser.add_argument(
        "--large",
        nargs="+",
        metavar="NAME",
        default=["transformer-base", "transformer-big"],
        help="experiments whose speed is measured; search takes the last one",
    )
    parser.add_argument("--vocabulary", type=command.whole_number(8), default=37_000)
    parser.add_argument("--sentences", type=command.whole_number(1), default=3_000)
    parser.add_argument("--seconds", type=command.number(0), default=15, help="of each speed")
    parser.add_argument("--output", type=Path, default=Path("results/gpu.md"), metavar="FILE")
    command.add_gpus(parser)
    command.run(main, parser)
