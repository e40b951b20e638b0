"""Prints one line a run: what it is, how far it is, and how it is doing."""

import argparse
import fcntl
from datetime import timedelta
from pathlib import Path

from nmt import command
from nmt.errors import UserError
from nmt.files import read_json
from nmt.training.metrics import read_metrics


def main(args: argparse.Namespace) -> None:
    # A changed configuration begins another state beside the earlier one: the latest speaks for the
    # run.
    by_date = sorted(
        args.runs.glob("*/*/seed-*/state-*/settings.json"), key=lambda path: path.stat().st_mtime
    )
    states = sorted({path.parent.parent: path for path in by_date}.values())
    if not states:
        print(f"no run has begun to train as {args.runs}/CORPUS/EXPERIMENT/seed-N.")
    width = max((len(name_of(state, args.runs)) for state in states), default=0)
    for state in states:
        try:
            shown = line(state.parent)
        except UserError as error:  # of one run: the others have theirs to say
            shown = str(error)
        print(f"{name_of(state, args.runs):{width}}  {shown}")


def name_of(settings: Path, runs: Path) -> str:
    """corpus/experiment/seed-N"""
    return str(settings.parent.parent.relative_to(runs))


def line(state: Path) -> str:
    updates = read_json(state / "settings.json")["training"]["updates"]
    metrics = read_metrics(state / "metrics.jsonl")
    done = (state.parent / "training.json").exists()
    doing = "done" if done else "training" if is_held(state / "lock") else "interrupted"
    steps = [entry for entry in metrics if "loss" in entry]
    if not steps:
        return f"{doing:11}  no update logged yet"
    last = steps[-1]
    shown = [
        f"{doing:11}",
        f"update {metrics[-1]['update']:>{len(str(updates))}} of {updates}",
        f"loss {last['nll']:.3f}",  # without smoothing, as in the figures
        f"{last['tokens_per_second']:,} tokens/s",
    ]
    if not done:
        left = (updates - last["update"]) * last["seconds"] / last["update"]
        shown.append(f"{timedelta(seconds=round(left))} left at most")
    for key, label in (("dev_perplexity", "dev perplexity"), ("dev_bleu", "greedy dev BLEU")):
        measured = [entry for entry in metrics if key in entry]
        if (
            measured
        ):  # of the model as it was then: the tables' is the average of the last checkpoints
            shown.append(f"{label} {measured[-1][key]:.2f} at {measured[-1]['update']}")
    return "  ".join(shown)


def is_held(lock: Path) -> bool:
    """Whether a living process, on this machine or another that shares the file, holds the lock."""
    with open(lock, "a+") as file:  # NFS shares a lock only on a file that is open for reading
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    parser.add_argument("--runs", type=Path, default=Path("results/runs"), metavar="FOLDER")
    command.run(main, parser)
