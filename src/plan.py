"""Print what a reproduction's trainings will take, before they run.

Without --gpu, a few updates of each are timed on this machine. While its corpus is not
there yet, a plan takes sentences as long as those of news.
"""

import argparse
import os
from pathlib import Path

from nmt import command

# isort: split
import pandas as pd
import torch

from nmt.configuration import lookup, read_reproduction
from nmt.device import require_gpu
from nmt.files import write_text
from nmt.planning.plan import PlannedTraining, makespan, plan
from nmt.planning.roofline import GPUS
from nmt.training.machine import device_name

HOUR = 3600


def main(args: argparse.Namespace) -> None:
    """Print a table with a line for each training, and one for all of them."""
    reproduction, catalog = read_reproduction(args.reproduction, args.catalog)
    tables = args.table or list(reproduction.default_tables)
    for table in tables:
        lookup(reproduction.tables, table, "table", str(args.reproduction))
    gpu = GPUS[args.gpu] if args.gpu else None
    require_gpu(args.gpus)
    threads = args.threads
    devices = args.devices or (1 if gpu else max(1, (os.cpu_count() or 1) // threads))
    if not gpu and torch.cuda.is_available():
        devices = min(devices, torch.cuda.device_count())  # a training has a GPU of its own
    trainings = plan(reproduction, catalog, tables, args.runs, gpu, args.seconds, threads, devices)
    lines = [line(training) for training in trainings]
    table = pd.DataFrame([*lines, total(trainings)]).astype(object)
    text = table.where(table.notna(), "").to_markdown(index=False, floatfmt=".3g")
    hours = sum(len(training.seeds) * training.seconds for training in trainings) / HOUR
    device = gpu.title if gpu else device_here(threads)
    text += (
        f"\n\nPredicted for {device} each training, {devices} side by side:"
        f" {makespan(trainings, devices) / HOUR:.3g} hours from start to end,"
        f" {hours:.3g} device-hours"
    )
    text += f", {hours * args.price:.2f} at {args.price:g} an hour.\n" if args.price else ".\n"
    print(text, end="")
    if args.output:
        write_text(args.output, text)
    if args.csv:
        hours_of = [(training.name, training.seconds / HOUR, device) for training in trainings]
        planned = pd.DataFrame(hours_of, columns=["experiment", "hours", "device"])
        write_text(args.csv, planned.to_csv(index=False, lineterminator="\n"))


def device_here(threads: int) -> str:
    """Return what a training has on this machine."""
    if torch.cuda.is_available():
        return device_name(torch.device("cuda"))
    return f"{threads} core{'s' if threads > 1 else ''} of this machine"


def line(training: PlannedTraining) -> dict:
    """Return a line of the table."""
    amounts = training.amounts
    measured = training.measured
    mean = sum(measured) / len(measured) if measured else None
    comparison = {
        "measured hours": mean / HOUR if mean else None,
        "predicted / measured": training.seconds / mean if mean else None,
    }
    update = training.update
    on_gpu: dict[str, object] = {}
    if update:
        on_gpu = {
            "target tokens/s": update.tokens_per_second,
            "bound by": update.bound,
            "matrix products (ms)": 1000 * update.products,
            "memory traffic (ms)": 1000 * update.bytes,
            "kernel launches (ms)": 1000 * update.launches,
        }
    memory = update.memory if update else amounts.memory
    return {
        "experiment": training.name,
        "seeds": len(training.seeds),
        "parameters (M)": amounts.parameters / 1e6,
        "target tokens (M)": amounts.target_tokens / 1e6,
        "FLOPs": amounts.flops,
        "memory (GB)": memory / 1e9,
        "disk (GB)": amounts.disk / 1e9,
        "hours": training.seconds / HOUR,
        **(comparison if measured else {}),
        **on_gpu,
    }


def total(trainings: list[PlannedTraining]) -> dict:
    """Return the last line: sums over all trainings, and the largest memory."""
    counts = [len(training.seeds) for training in trainings]
    lines = [line(training) for training in trainings]
    sums = {
        key: sum(count * values[key] for count, values in zip(counts, lines, strict=True))
        for key in ("target tokens (M)", "FLOPs", "disk (GB)", "hours")
    }
    most = max(values["memory (GB)"] for values in lines)
    return {"experiment": "all trainings", "seeds": sum(counts), "memory (GB)": most, **sums}


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_reproduction(parser)
    command.add_runs(parser)
    parser.add_argument(
        "--table",
        action="append",
        metavar="NAME",
        help="a table of the reproduction, by default those that snakemake makes by default",
    )
    parser.add_argument(
        "--gpu",
        choices=sorted(GPUS),
        help="predict for a GPU that need not be here, kernel by kernel, from its data sheet",
    )
    parser.add_argument(
        "--devices",
        type=command.whole_number(1),
        help="trainings side by side, each on a GPU or on its own cores",
    )
    parser.add_argument(
        "--price", type=command.number(0), default=0, help="price of one device for an hour"
    )
    parser.add_argument(
        "--seconds",
        type=command.number(0),
        default=60,
        help="for which updates are timed on this machine, by default 60 in all",
    )
    parser.add_argument(
        "--threads",
        type=command.whole_number(1, command.MOST_THREADS),
        default=1,
        help="CPU threads per training",
    )
    command.add_gpus(parser)
    parser.add_argument("--output", type=Path, metavar="FILE", help="to write the table to, too")
    parser.add_argument(
        "--csv", type=Path, metavar="FILE", help="to write each training's hours to, for tables"
    )
    command.run(main, parser)
