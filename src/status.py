"""Print one line for each run: what it is, how far it is, and how it is doing."""

import argparse
import fcntl
from datetime import timedelta
from pathlib import Path

from nmt import command
from nmt.errors import UserError
from nmt.files import read_json
from nmt.training.metrics import read_metrics


def main(args: argparse.Namespace) -> None:
    """Print the status of every run in the folder."""
    settings = args.runs.glob("*/*/seed-*/state-*/settings.json")
    by_date = sorted(settings, key=lambda path: path.stat().st_mtime)
    # A changed configuration starts another state beside the earlier one: the latest is shown.
    latest = {path.parent.parent: path.parent for path in by_date}
    if not latest:
        print(f"no run has begun to train as {args.runs}/CORPUS/EXPERIMENT/seed-N.")
    names = {run: str(run.relative_to(args.runs)) for run in sorted(latest)}
    for run, name in names.items():
        try:
            text = status(latest[run])
        except UserError as error:
            text = str(error)  # only this run is damaged: go on with the others
        print(f"{name:{max(map(len, names.values()))}}  {text}")


def status(state: Path) -> str:
    """Return one line on a run: its phase, update, loss and speed, and its latest dev scores."""
    updates = read_json(state / "settings.json", ["training"])["training"]["updates"]
    metrics = read_metrics(state / "metrics.jsonl")
    is_done = (state.parent / "training.json").exists()
    phase = "done" if is_done else "training" if is_held(state / "lock") else "interrupted"
    latest = {key: entry for entry in metrics for key in entry}  # the last line with each key
    if "loss" not in latest:
        return f"{phase:11}  no update logged yet"
    last = latest["loss"]
    parts = [
        f"{phase:11}",
        f"update {metrics[-1]['update']:>{len(str(updates))}} of {updates}",
        f"loss {last['nll']:.3f}",  # without smoothing, as in the figures
        f"{last['tokens_per_second']:,} tokens/s",
    ]
    if not is_done:
        seconds_left = (updates - last["update"]) * last["seconds"] / last["update"]
        parts.append(f"{timedelta(seconds=round(seconds_left))} left at most")
    # BLEU of the model at that update: the tables show the average of the last checkpoints.
    for key, label in (("dev_perplexity", "dev perplexity"), ("dev_bleu", "greedy dev BLEU")):
        if line := latest.get(key):
            parts.append(f"{label} {line[key]:.2f} at {line['update']}")
    return "  ".join(parts)


def is_held(lock: Path) -> bool:
    """Return whether a living process holds the lock, on this machine or one that shares it."""
    try:
        with open(lock, encoding="utf-8") as file:  # for reading alone, as NFS wants it
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    except OSError:  # there is no such file, or the file system has no locks
        return False


if __name__ == "__main__":
    parser = command.arguments(__doc__)
    command.add_runs(parser)
    command.run(main, parser)
