"""What runs scored and what they cost, one line for each."""

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from nmt.paper.results import Run, provenance

# The columns of costs in `run_results`, and those of where trainings ran
RUN_COSTS = (
    *("parameters_millions", "flops_6nd", "target_tokens"),
    *("device_hours", "flops_per_second", "utilization", "minutes"),
)
ORIGINS = ("device", "processes", "threads", "commit")


def run_results(runs: Sequence[Run], split: str, metrics: list[str]) -> pd.DataFrame:
    """Return one line for each run: its metrics, what it cost, and where it comes from.

    parameters_millions counts a tied matrix once; flops_6nd is nmt.models.flops' count;
    device_hours are the training loop's, validation included. utilization is the share of the
    device's rate of large matrix products. An ensemble's costs are the sums of its members'.
    diverged: whether a training has. What is not on disk is empty: is_trained tells whether
    anything is.
    """
    lines = []
    for run in runs:
        line = {
            "experiment": run.experiment,
            "seed": run.seeds,
            "is_trained": run.is_trained,
            "trained_as": Path(run.trained_in).parent.name or None,
        }
        if run.is_trained:
            for metric in metrics:
                line |= score_columns(run, split, metric)
            line |= run_costs(run) if run.trained_runs else {}
        lines.append(line)
    numbers = [*metrics, *RUN_COSTS, "sentences", "diverged"]
    texts = [*ORIGINS, *(f"{metric}_signature" for metric in metrics)]
    columns = ["experiment", "seed", "is_trained", "trained_as", *numbers, *texts]
    return pd.DataFrame(lines, columns=columns).astype(dict.fromkeys(numbers, float))


def score_columns(run: Run, split: str, metric: str) -> dict:
    """Return a metric's columns; none when it was not measured."""
    if metric == "perplexity":
        if not run.has("dev.perplexity.json"):
            return {}
        perplexity = run.read("dev.perplexity.json", ["perplexity", "tokens"])
        signature = f"{perplexity['tokens']} tokens"
        return {metric: perplexity["perplexity"], f"{metric}_signature": signature}
    if not run.has(f"{split}.scores.json"):
        return {}
    scores = run.read(f"{split}.scores.json", ["sentences", metric])
    return {
        metric: scores[metric]["score"],
        f"{metric}_signature": scores[metric]["signature"],
        "sentences": scores["sentences"],
    }


def run_costs(run: Run) -> dict:
    """Return what the run's trainings cost, and on which devices they ran."""
    trainings = run.trainings()
    total = {
        key: sum(training[key] for training in trainings)
        for key in ("flops", "device_seconds", "parameters", "target_tokens", "seconds")
    }
    costs = {
        "parameters_millions": total["parameters"] / 1e6,
        "flops_6nd": total["flops"],
        "target_tokens": total["target_tokens"],
        "device_hours": total["device_seconds"] / 3600,
        "flops_per_second": total["flops"] / total["device_seconds"],
        "utilization": total["flops"] / sum(map(measured_peak_flops, run.trained_runs)),
        "minutes": total["seconds"] / 60,
        "diverged": any(training.get("diverged") for training in trainings),
    }
    return costs | {key: provenance(trainings, key) for key in ORIGINS}


def measured_peak_flops(run: Run) -> float:
    """Return the FLOPs of large matrix products in a training's device time, or NaN if unknown.

    Each line of metrics gives the FLOPs since the line before, and which share of the device's
    rate they were ("mfu"). A rate that is below the training's own was measured while the device
    was busy with other work, and says nothing.
    """
    counted = 0.0
    possible = 0.0
    for line in run.metrics():
        if line.get("mfu"):
            possible += (line["flops"] - counted) / line["mfu"]
            counted = line["flops"]
    if not counted or possible < counted:
        return math.nan
    return possible * run.training()["flops"] / counted
