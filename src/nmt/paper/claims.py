"""The ledger of claims: what papers and lectures say, and what small experiments measured."""

import math
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from nmt.configuration import Catalog, Claim, Reproduction, lookup, read_reproduction
from nmt.errors import UserError
from nmt.paper.markup import markdown_table
from nmt.paper.measurements import run_results
from nmt.paper.results import RunFiles, find_runs
from nmt.paper.tables import half_width

VERDICTS = ("confirmed", "refuted", "not decided", "untested")
NOTES = (
    "NPFL138: Straka, lecture 9 (2025). CSE 849: Cui, The Transformer (2025). 10-701: Lipton and"
    " Chai. Report: Translation using deep neural networks, part 2",
    "Difference: the first row's mean over seeds minus the second one's, ± half the width of its"
    " 95% interval (Student's t; the standard deviation is pooled over both rows' seeds or, where"
    " one has a single seed, over the table's)",
    "Confirmed: the whole interval has the predicted sign; refuted: the other one; not decided:"
    " zero is inside, or no row of the table has several seeds. Equal within b: the interval lies"
    " inside or outside ± b. No correction for the number of claims",
    "What heads attend to, and what silencing one costs: docs/results.md",
)


def claims_table(claims: Sequence[Claim], configuration: Path, files: RunFiles) -> pd.DataFrame:
    """Return a row for each claim: predicted, measured, verdict.

    configuration: the folder of the reproductions. Raises UserError for a claim about rows that its
    table does not have.
    """
    names = {claim.reproduction for claim in claims}
    paths = {name: configuration / f"{name}.yaml" for name in names}
    read = {name: read_reproduction(path, configuration) for name, path in paths.items()}
    return pd.DataFrame([measured(claim, *read[claim.reproduction], files) for claim in claims])


def claims_page(data: pd.DataFrame) -> str:
    """Return the table in Markdown: a part for each command that trains what it needs."""
    counts = data.verdict.value_counts().reindex(VERDICTS, fill_value=0)
    notes = [*NOTES, ", ".join(f"{count} {verdict}" for verdict, count in counts.items())]
    parts = ["# Claims", "\n".join(f"- {note}." for note in notes)]
    shown = data.drop(columns=["lowest", "highest"]).assign(
        difference=[interval_text(*row) for row in data[["difference", "highest"]].values]
    )
    for command, rows in shown.groupby("command", sort=False):
        parts += [f"## `{command}`", markdown_table(rows.drop(columns="command"))]
    return "\n\n".join(parts) + "\n"


def measured(claim: Claim, reproduction: Reproduction, catalog: Catalog, files: RunFiles) -> dict:
    """Return the columns of a claim."""
    table = lookup(reproduction.tables, claim.table, "table", claim.claim)
    for row in claim.rows:
        if row not in table.experiments:
            raise UserError(f"{claim.claim}: the table {claim.table} has no row {row}.")
    runs = find_runs(files, reproduction, catalog, table.experiments)
    scores = run_results(runs, table.split, [claim.metric]).dropna(subset=claim.metric)
    of_rows = scores[scores.experiment.isin(claim.rows)].groupby("experiment")[claim.metric]
    seeds = of_rows.count().reindex(claim.rows, fill_value=0)
    means = of_rows.mean().reindex(claim.rows)
    difference = means.iloc[0] - means.iloc[1]
    groups = of_rows if seeds.min() > 1 else scores.groupby("experiment")[claim.metric]
    freedom = groups.count() - 1
    variance = (groups.var() * freedom).sum(min_count=1) / freedom.sum()
    half = half_width(variance**0.5, freedom.sum(), (1 / seeds).sum())
    lowest, highest = difference - half, difference + half
    bound = f" within {claim.within:g}" if claim.within else ""
    return {
        "claim": claim.claim,
        "source": claim.source,
        "experiment": f"`{claim.rows[0]}` − `{claim.rows[1]}`: {claim.metric}",
        "predicted": claim.predicted + bound,
        "difference": difference,
        "lowest": lowest,
        "highest": highest,
        "seeds": f"{seeds.iloc[0]}, {seeds.iloc[1]}",
        "verdict": verdict(claim, difference, lowest, highest),
        "command": f"snakemake {claim.table} --configfile config/{claim.reproduction}.yaml",
    }


def verdict(claim: Claim, difference: float, lowest: float, highest: float) -> str:
    """Return one of VERDICTS; an interval of NaN decides nothing."""
    if math.isnan(difference):
        return "untested"
    if claim.predicted == "equal":
        confirmed = -claim.within < lowest and highest < claim.within
        refuted = lowest > claim.within or highest < -claim.within
    else:
        confirmed, refuted = highest < 0, lowest > 0
        if claim.predicted == "higher":
            confirmed, refuted = refuted, confirmed
    return "confirmed" if confirmed else "refuted" if refuted else "not decided"


def interval_text(difference: float, highest: float) -> str:
    """Return a difference with half the width of its interval: "+0.42 ± 0.22"."""
    if math.isnan(difference):
        return ""
    text = f"{difference:+.2f}"
    if not math.isnan(highest):
        text += f" ± {highest - difference:.2f}"
    return text.replace("-", "−")
