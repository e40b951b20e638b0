"""The columns of a row of results: our numbers, published ones, settings, costs, significance."""

from pathlib import Path

import pandas as pd

from nmt.configuration import Catalog, Ensemble, Experiment, Published
from nmt.evaluation.metrics import COSTS, METRICS
from nmt.paper.csv_files import read_csv
from nmt.paper.notes import join_distinct

# The columns of the published costs that tables show.
COST_COLUMNS = {name: cost.column for name, cost in COSTS.items() if cost.column}
# The columns of settings in which the rows of AIAYN's Table 3 differ.
SETTINGS = (
    "layers",
    "d_model",
    "d_ff",
    "heads",
    "d_k",
    "d_v",
    "dropout",
    "label_smoothing",
    "updates",
)


def number_columns(
    metrics: list[str], results: pd.DataFrame | None, published: list[Published]
) -> dict:
    """Return the columns of a row's scores, parameters and FLOPs, ours and published.

    `results` holds the row's runs, None for a system that is only cited.
    """
    columns: dict = {}
    column_by_name = {metric: metric for metric in metrics} | COST_COLUMNS
    for name, column in column_by_name.items():
        published_as = METRICS[name].published_as if name in METRICS else None
        entry = next((entry for entry in published if entry.metric in (name, published_as)), None)
        scores = None if results is None else results[column]
        mean = None if scores is None or scores.isna().all() else scores.mean()
        columns[column] = mean
        columns[f"{column}_scored"] = 0 if scores is None else int(scores.count())
        columns[f"{column}_sd"] = None if scores is None or scores.count() < 2 else scores.std()
        columns[f"{column}_published"] = None if entry is None else entry.value
        columns[f"{column}_source"] = None if entry is None else entry.source
        if name != "flops":
            difference = None if mean is None or entry is None else mean - entry.value
            columns[f"{column}_difference"] = difference
    return columns


def row_state(metrics: list[str], results: pd.DataFrame) -> str:
    """Return whether a row is stale or not complete, and "" when it is as configured."""
    trained = int(results.is_trained.sum())
    if not trained:
        return "not run"
    if results.stale.any():
        return f"stale: {join_distinct(results.stale[results.stale != ''])}"
    scored = int(results[metrics].notna().all(axis="columns").sum())
    if 0 < scored < trained:
        return f"{scored} of {len(results)} seeds scored"
    return "" if trained == len(results) else f"{trained} of {len(results)} seeds run"


def read_plan(path: Path) -> dict[str, tuple[float, str]]:
    """Return the hours that plan.py predicts for a training of each experiment, and on what.

    Nothing where there is no plan.
    """
    if not path.exists():
        return {}
    plan = read_csv(path, ("experiment", "hours", "device"), "`snakemake plan` makes it again")
    return dict(zip(plan.experiment, zip(plan.hours, plan.device, strict=True), strict=True))


def planned_columns(
    trainings: list[str], catalog: Catalog, hours: dict[str, tuple[float, str]]
) -> dict:
    """Return what would fill a row that was not run: the sum over the trainings of its seeds."""
    names = [catalog.experiment(name).trained_as or name for name in trainings]
    if not all(name in hours for name in names):
        return {}
    devices = dict.fromkeys(hours[name][1] for name in names)
    return {
        "planned_hours": sum(hours[name][0] for name in names),
        "planned_device": ", ".join(devices),
    }


def setting_columns(experiment: Experiment | Ensemble) -> dict:
    """Return the columns of SETTINGS; an ensemble has none, a recurrent model only two."""
    if isinstance(experiment, Ensemble):
        return {}
    training = experiment.training
    columns = {"label_smoothing": training.label_smoothing, "updates": training.updates}
    return columns | experiment.model.table3_settings


def seed_columns(metrics: list[str], results: pd.DataFrame) -> dict:
    """Return the scores of each seed, where there are several."""
    if len(results) < 2:
        return {}
    return {
        f"{metric}_seed_{seed}": score
        for metric in metrics
        for seed, score in zip(results.seed, results[metric], strict=True)
    }


def cost_columns(results: pd.DataFrame) -> dict:
    """Return what a row's runs took, as the mean over seeds, and on which devices."""
    trained = results[results.is_trained]
    return {
        "flops_device_time": trained.flops_device_time.mean(),
        "target_tokens": trained.target_tokens.mean(),
        "device_hours": trained.device_hours.mean(),
        "flops_per_second": trained.flops_per_second.mean(),
        "utilization": trained.utilization.mean(),
        "minutes_per_seed": trained.minutes.mean(),
        "device": join_distinct(trained.device),
        "processes": join_distinct(trained.processes),
        "threads": join_distinct(trained.threads),
        "runs": len(trained),
        "diverged": int(trained.diverged.sum()),
        "seeds": join_distinct(trained.seed),
        "commit": join_distinct(trained.commit),
    }


def significance_columns(row: str, significance: dict) -> dict:
    """Return the columns that say how far the row's scores may be chance."""
    return {
        f"{metric}_{key}": comparisons["systems"][row][key]
        for metric, comparisons in significance.items()
        if row in comparisons["systems"]
        for key in ("interval", "p_bootstrap", "p_randomization", "may_be_best")
    }
