"""Print one line for each run: what it is, how far it is, and how it is doing."""

import argparse
import fcntl
from datetime import timedelta
from pathlib import Path

from nmt import command
from nmt.errors import UserError
from nmt.files import read_json
from nmt.training.metrics import SETTINGS_REMEDY, read_metrics


def main(args: argparse.Namespace) -> None:
    """Print the status of every run in the folder."""
    settings = args.runs.glob("*/*/seed-*/state-*/settings.json")
    # A changed configuration starts another state beside the earlier one. The latest replaces the
    # earlier ones here.
    by_date = sorted(settings, key=lambda path: path.stat().st_mtime)
    latest = {path.parent.parent: path.parent for path in by_date}
    states = sorted(latest.values())
    if not states:
        print(f"no run has begun to train as {args.runs}/CORPUS/EXPERIMENT/seed-N.")
    width = max((len(run_name(state, args.runs)) for state in states), default=0)
    for state in states:
        try:
            text = status(state)
        except UserError as error:
            # Only this run is damaged: go on with the others.
            text = str(error)
        print(f"{run_name(state, args.runs):{width}}  {text}")


def run_name(state: Path, runs: Path) -> str:
    """Return corpus/experiment/seed-N for the state's folder of a run."""
    return str(state.parent.relative_to(runs))


def status(state: Path) -> str:
    """Return one line on a run: its phase, update, loss and speed, and its latest dev scores."""
    settings = read_json(state / "settings.json", ["training"], SETTINGS_REMEDY)
    updates = settings["training"]["updates"]
    metrics = read_metrics(state / "metrics.jsonl")
    is_done = (state.parent / "training.json").exists()
    if is_done:
        phase = "done"
    elif is_held(state / "lock"):
        phase = "training"
    else:
        phase = "interrupted"
    training_metrics = [entry for entry in metrics if "loss" in entry]
    if not training_metrics:
        return f"{phase:11}  no update logged yet"
    last = training_metrics[-1]
    parts = [
        f"{phase:11}",
        f"update {metrics[-1]['update']:>{len(str(updates))}} of {updates}",
        # Without smoothing, as in the figures.
        f"loss {last['nll']:.3f}",
        f"{last['tokens_per_second']:,} tokens/s",
    ]
    if not is_done:
        seconds_left = (updates - last["update"]) * last["seconds"] / last["update"]
        parts.append(f"{timedelta(seconds=round(seconds_left))} left at most")
    # BLEU of the model at that update: the tables show the average of the last checkpoints.
    for key, label in (("dev_perplexity", "dev perplexity"), ("dev_bleu", "greedy dev BLEU")):
        dev_metrics = [entry for entry in metrics if key in entry]
        if dev_metrics:
            latest = dev_metrics[-1]
            parts.append(f"{label} {latest[key]:.2f} at {latest['update']}")
    return "  ".join(parts)


def is_held(lock: Path) -> bool:
    """Return whether a living process holds the lock, on this machine or one that shares it."""
    try:
        # NFS shares a lock only on a file that is open for reading.
        with open(lock, encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # there is no such file, or the file system has no locks
        return False
    return False


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_runs(parser)
    command.run(main, parser)
