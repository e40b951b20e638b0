"""Tables of results as data frames: cited systems, then our rows beside published numbers."""

from typing import Any

import pandas as pd

from nmt.configuration import Catalog, Ensemble, SelfAttention, Table
from nmt.errors import UserError
from nmt.evaluation.metrics import COSTS, METRICS
from nmt.paper.measurements import ORIGINS, RUN_COSTS
from nmt.paper.notes import join_distinct

# The columns of the published costs that tables show.
COST_COLUMNS = {name: column for name, column in COSTS.items() if column}
# The 97.5% quantiles of Student's t distribution with 1, 2, ... degrees of freedom; the last is
# taken for more.
STUDENT_T = dict(enumerate((12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262), 1))


def table_rows(
    table: Table, corpus: str, catalog: Catalog, results: pd.DataFrame, significance: dict
) -> pd.DataFrame:
    """Return a line for each row of a table: systems that are only cited, then ours, in order.

    results: of the table's runs. significance: what compare.py wrote of the table's rows; empty
    when they were not compared.

    Each number (the table's metrics, parameters_millions and flops_6nd) has columns: its own name
    for the mean over seeds, _scored for their number, _sd for the sample standard deviation (empty
    with one seed), _published and _source for what a paper prints and where, _difference for ours
    minus the published. There is no difference of FLOPs: papers count them otherwise. Metrics that
    were compared have _interval, _p_bootstrap, _p_randomization and _may_be_best too, as in
    Comparison; of perplexity the lowest of each vocabulary may be best. With several seeds the
    numbers of each are in _seed_1 and so on. A table with a base has the settings of AIAYN's Table
    3, and instead of differences to published numbers, which may be those of a row's counterpart,
    _to_base and _published_to_base, those to the base's. Where the base has several seeds,
    _may_be_chance tells whether ours is inside the 95% interval that their standard deviation and
    Student's t give for the difference of two means over seeds. A row that shares the base's
    training (`trained_as`; an ensemble has none) is compared seed by seed.

    Rows that were not run are empty; `state` says that, or that a row is not complete or of other
    seeds than one that shares its training. Raises UserError for scores of different
    signatures.
    """
    ours = own_rows(table, catalog, results)
    for metric, comparisons in significance.items():
        for key in ("interval", "p_bootstrap", "p_randomization", "may_be_best"):
            compared = {row: values[key] for row, values in comparisons["systems"].items()}
            ours[f"{metric}_{key}"] = pd.Series(compared)
    published = published_numbers(corpus, table, catalog)
    scores = published[[f"{metric}_published" for metric in table.metrics]]
    is_cited = scores.notna().any(axis="columns") & ~published.index.isin(list(catalog.rows))
    cited = published[is_cited].assign(title=published.index[is_cited], kind="published only")
    ours = ours.join(published).rename_axis("experiment").reset_index()
    rows = pd.concat([cited, ours], ignore_index=True).assign(
        corpus=corpus,
        corpus_title=catalog.corpus(corpus).title,
        split=table.split,
        **{f"{metric}_signature": common_signature(results, metric) for metric in table.metrics},
    )
    if table.base:
        return with_differences_to_base(rows, table)
    for number in (*table.metrics, "parameters_millions"):
        rows[f"{number}_difference"] = rows[number] - rows[f"{number}_published"]
    return rows


def own_rows(table: Table, catalog: Catalog, results: pd.DataFrame) -> pd.DataFrame:
    """Return our rows by name: means and deviations over seeds, origins, settings and state."""
    numbers = [*table.metrics, *COST_COLUMNS.values()]
    trained = results[results.is_trained].groupby("experiment")
    seeds = results.groupby("experiment")
    scored = results[table.metrics].notna().all(axis="columns")
    rows = pd.DataFrame(
        {
            "kind": "run",
            "title": {name: catalog.rows[name].title for name in table.experiments},
            "state": {name: row_state(table.metrics, runs) for name, runs in seeds},
            "trained_as": seeds.trained_as.first(),
            "runs": scored.groupby(results.experiment).sum(),
            "diverged": seeds.diverged.sum(),
            "lowercased": {name: catalog.is_lowercased(name) for name in table.experiments},
        }
    )
    frames = [
        rows,
        seeds[list(dict.fromkeys([*numbers, *RUN_COSTS]))].mean(),
        seeds[numbers].std().add_suffix("_sd"),
        seeds[numbers].count().add_suffix("_scored"),
        trained[["seed", *ORIGINS]].agg(join_distinct),
    ]
    single = results[results.trained_as.notna()]
    for metric in table.metrics if single.seed.nunique() > 1 else []:
        frames.append(single.pivot(index="experiment", columns="seed", values=metric))
        frames[-1] = frames[-1].add_prefix(f"{metric}_seed_")
    if table.base:
        settings = {name: settings_of(name, catalog) for name in table.experiments}
        frames.append(pd.DataFrame.from_dict(settings, orient="index"))
    joined = pd.concat(frames, axis="columns").loc[table.experiments]
    for _, sharing in joined[joined.runs > 0].groupby("trained_as"):
        first = sharing.iloc[0]
        others = sharing.index[(sharing.seed != first.seed) & (sharing.state == "")]
        joined.loc[others, "state"] = (
            f"other seeds than {first.title}, whose training it shares: compare them seed by seed,"
            " not their means"
        )
    if "perplexity" in table.metrics:
        # Only rows of one vocabulary can be compared, and ensembles have none.
        vocabularies = [catalog.experiment(name).vocabulary for name in table.experiments]
        groups = joined.groupby(vocabularies).perplexity
        is_lowest = joined.perplexity == groups.transform("min")
        joined["perplexity_may_be_best"] = is_lowest & (groups.transform("count") > 1)
    return joined


def row_state(metrics: list[str], runs: pd.DataFrame) -> str:
    """Return whether a row was run and is complete, and "" when it is."""
    if not runs.is_trained.any():
        return "not run"
    scored = int(runs[metrics].notna().all(axis="columns").sum())
    return "" if scored == len(runs) else f"{scored} of {len(runs)} seeds scored"


def settings_of(row: str, catalog: Catalog) -> dict:
    """Return the settings in which the rows of AIAYN's Table 3 differ, where a row has them."""
    if isinstance(catalog.rows[row], Ensemble):
        return {}
    experiment = catalog.experiment(row)
    training = experiment.training
    settings = {"label_smoothing": training.label_smoothing, "updates": training.updates}
    model = experiment.model
    if isinstance(model, SelfAttention):
        settings |= {key: getattr(model, key) for key in ("layers", "d_model", "d_ff", "heads")}
        settings |= {"d_k": model.key_width, "d_v": model.value_width, "dropout": model.dropout}
    return settings


def common_signature(results: pd.DataFrame, metric: str) -> str:
    """Return how all runs computed the metric.

    Raises UserError for scores computed in different ways, which must not share a column. The
    signature of perplexity only tells over how many subwords it is a mean, which depends on the
    vocabulary.
    """
    signatures = results[f"{metric}_signature"].dropna()
    text = join_distinct(signatures)
    if signatures.nunique() > 1 and metric != "perplexity":
        raise UserError(
            f"{metric} was measured in different ways ({text}): score all runs again with one"
            " version."
        )
    return text


def published_numbers(corpus: str, table: Table, catalog: Catalog) -> pd.DataFrame:
    """Return the numbers published beside the table's columns, and their sources.

    A line for each row and each system that has some, by its name. A row with a counterpart has the
    counterpart's scores: perplexity beside perplexity, BLEU beside the first BLEU of the table,
    however that is tokenized.
    """
    beside = {metric: {metric, METRICS[metric].published_as} for metric in table.metrics}
    beside |= {column: {name} for name, column in COST_COLUMNS.items()}
    scorers = {name: metric.scorer or name for name, metric in METRICS.items()}
    first_of_scorer = {scorers[metric]: metric for metric in reversed(table.metrics)}
    found: list[tuple] = []
    for entry in catalog.published:
        if entry.corpus == corpus and entry.split in (None, table.split):
            name = entry.experiment or entry.system
            for column in [column for column in beside if entry.metric in beside[column]]:
                found.append((name, column, entry.value, entry.source))
        for row, counterpart in table.counterparts.items():
            if entry.experiment == counterpart and entry.split == table.split:
                first = first_of_scorer.get(scorers[entry.metric])
                found.append((row, first, entry.value, entry.source))
    kinds = ["published", "source"]
    numbers = pd.DataFrame(found, columns=["row", "column", *kinds])
    wide = numbers.drop_duplicates(["row", "column"]).pivot(index="row", columns="column")
    wide = wide.reindex(numbers.row.unique(), columns=pd.MultiIndex.from_product([kinds, beside]))
    wide.columns = [f"{column}_{kind}" for kind, column in wide]
    return wide.astype({f"{column}_published": float for column in beside})


def with_differences_to_base(rows: pd.DataFrame, table: Table) -> pd.DataFrame:
    """Return the rows with the differences to the base's numbers, ours and published."""
    rows = rows.copy()
    is_base = rows.experiment == table.base
    is_variation = (rows.kind == "run") & ~is_base
    base = rows[is_base].iloc[0]
    shares = is_variation & (rows.trained_as == base.trained_as)
    for column in (*table.metrics, "parameters_millions"):
        for numbers in (column, f"{column}_published"):
            rows[f"{numbers}_to_base"] = (rows[numbers] - base[numbers]).where(is_variation)
    for metric in table.metrics:
        # A standard deviation is NaN with a single seed, and then so is the half-width.
        seeds = rows[f"{metric}_scored"]
        share = 1 / seeds + (1 / seeds)[is_base].iloc[0]
        half = half_width(base[f"{metric}_sd"], base[f"{metric}_scored"] - 1, share)
        of_seeds = rows.filter(regex=f"^{metric}_seed_")
        if len(of_seeds.columns):
            pairs = (of_seeds - of_seeds[is_base].iloc[0])[shares].T  # of the seeds that both have
            rows.loc[shares, f"{metric}_to_base"] = pairs.mean()
            quantile = (pairs.count() - 1).map(STUDENT_T).fillna(STUDENT_T[9])
            half[shares] = quantile * pairs.sem()
        rows[f"{metric}_may_be_chance"] = rows[f"{metric}_to_base"].abs() <= half
    return rows


def half_width(deviation: float, degrees_of_freedom: int, share: Any) -> Any:
    """Return half of the 95% interval of a difference of two means, by Student's t.

    deviation: the standard deviation of single numbers; the result is NaN where it is.
    share: 1 / n + 1 / m of means over n and m numbers, as a number or a series.
    """
    return STUDENT_T.get(degrees_of_freedom, STUDENT_T[9]) * deviation * share**0.5
