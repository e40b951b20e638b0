"""What a reproduction is: config/demo.yaml, say."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from nmt.configuration.catalog import Catalog, load_catalog
from nmt.configuration.corpora import Corpus
from nmt.configuration.overrides import (
    BEFORE_KEY,
    KEYS,
    effective_keys,
    split_name,
    text,
    with_overrides,
)
from nmt.configuration.strict import (
    NAME,
    Name,
    RowName,
    Seed,
    Strict,
    Text,
    lookup,
    read_yaml,
    validated,
)
from nmt.errors import UserError, nearest
from nmt.evaluation.metrics import METRICS

# Folders of results beside a reproduction's own
RESERVED = ("benchmark", "benchmarks", "corpora", "downloads", "logs", "runs")


class Table(Strict):
    """A table of experiments: one row each, with one column per metric."""

    title: Text
    """Heading of the printed page or table."""
    experiments: Annotated[list[RowName], Field(min_length=1)]
    """Experiments and ensembles, one row each; "name+updates-60" changes one key of an
    experiment."""
    split: Name
    """Split that the metrics are measured on."""
    metrics: Annotated[list[str], Field(min_length=1)]
    """Metrics, one per column."""
    base: RowName | None = None
    """Row whose settings the others vary: the table is printed as AIAYN's Table 3, each setting
    blank where it is this row's."""
    counterparts: dict[RowName, Name] = Field(default={})
    """Experiments of a paper that rows repeat in small: the paper's numbers, and their differences
    to those of the base's counterpart, stand beside ours."""
    on_request: bool = False
    """Whether the table is made only when asked for by its name, as in `snakemake table3`."""

    @model_validator(mode="after")
    def check(self) -> "Table":
        """Refuse rows and metrics that are there twice, and unknown metrics."""
        check_once("experiments", self.experiments)
        check_once("metrics", self.metrics)
        for metric in self.metrics:
            if metric not in METRICS:
                raise ValueError(f"unknown metric {metric!r}: {nearest(metric, METRICS)}")
            if metric == "perplexity" and self.split != "dev":
                raise ValueError("perplexity is measured on the split dev alone")
        if self.base is not None and self.base not in self.experiments:
            hint = nearest(self.base, self.experiments)
            raise ValueError(f"base: {self.base!r} is no row of the table: {hint}")
        for row in self.counterparts:
            if row not in self.experiments:
                hint = nearest(row, self.experiments)
                raise ValueError(f"counterparts: {row!r} is no row of the table: {hint}")
        if self.counterparts and self.base not in self.counterparts:
            raise ValueError("counterparts: the base needs one, to which theirs are compared")
        return self


class Reproduction(Strict):
    """What one command makes: training runs, and tables and figures of their results."""

    name: RowName
    """Name of the folder in results."""
    title: Text
    """Heading of the printed page or table."""
    corpus: Name
    """Corpus, an entry of corpora.yaml."""
    seeds: Annotated[list[Seed], Field(min_length=1)]
    """Random seeds of every experiment."""
    seeds_of: dict[RowName, Annotated[list[Seed], Field(min_length=1)]] = Field(default={})
    """Seeds of single experiments, which override `seeds`."""
    tables: Annotated[dict[Name, Table], Field(min_length=1)]
    """Tables by name; each has its figures, and those of attention, of positions and of search are
    drawn for the first."""
    attention: Text
    """Sentence in the source language: the figure `attention` shows how each system attends to it
    while translating."""
    catalog: str = "config"
    """Folder of corpora.yaml, experiments and published.yaml."""
    mirror: str | None = None
    """Folder searched for archives before any download; the environment variable NMT_MIRROR also
    sets it."""

    @model_validator(mode="after")
    def check(self) -> "Reproduction":
        """Refuse seeds that are there twice or of no row, and a name that results has a use for."""
        check_once("seeds", self.seeds)
        for row, seeds in self.seeds_of.items():
            check_once(f"seeds_of, {row}", seeds)
            if row not in self.experiments:
                hint = nearest(row, self.experiments)
                raise ValueError(f"seeds_of: no table has the row {row!r}: {hint}")
        first = next(iter(self.tables))
        if self.tables[first].on_request:
            raise ValueError(
                f"tables: {first} comes first, which is drawn without being asked for: it cannot be"
                " on_request"
            )
        if self.name in RESERVED:
            raise ValueError(
                f"name: results/{self.name} is a folder of the workflow's own, choose another"
            )
        return self

    def seeds_for(self, row: str) -> list[int]:
        """Return the seeds of a row."""
        return self.seeds_of.get(row, self.seeds)

    @property
    def default_tables(self) -> dict[str, Table]:
        """The tables that are made without being named, by name."""
        return {name: table for name, table in self.tables.items() if not table.on_request}

    def has_several_seeds(self, rows: Iterable[str]) -> bool:
        """Return whether one of these rows is trained with more than one seed."""
        return any(len(self.seeds_for(row)) > 1 for row in rows)

    @property
    def experiments(self) -> list[str]:
        """Every row of every table, once."""
        rows = [row for table in self.tables.values() for row in table.experiments]
        return list(dict.fromkeys(rows))


def check_once(key: str, values: list) -> None:
    """Raise ValueError when a value is there twice."""
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{key}: {value} is there twice")


def read_reproduction(file: Path, catalog: Path) -> tuple[Reproduction, Catalog]:
    """Return the reproduction of a YAML file, and its catalog, which is read from this folder.

    Raises UserError for what makes no sense.
    """
    return load_reproduction(read_yaml(file, dict) | {"catalog": str(catalog)}, str(file))


def load_reproduction(
    values: dict, where: str = "the configuration", root: Path | None = None
) -> tuple[Reproduction, Catalog]:
    """Return the reproduction that `values` (a parsed config/*.yaml) describe, and its catalog.

    root: the folder that relative paths in the configuration start from. None: the catalog's path
    starts from the working folder, and no other is followed.
    Keys of rows among the values override those of all rows (nmt.configuration.overrides). Raises
    UserError for what makes no sense.
    """
    overridable = KEYS - Reproduction.model_fields.keys()
    overrides = {key: value for key, value in values.items() if key in overridable}
    own = {key: value for key, value in values.items() if key not in overrides}
    for key in own:
        if isinstance(key, str) and key not in Reproduction.model_fields:
            hint = nearest(key, [*Reproduction.model_fields, *overridable])
            raise UserError(f"{where}: unknown key {key!r}: {hint}")
    reproduction = validated(Reproduction, own, where)
    catalog = load_catalog((root or Path()) / reproduction.catalog)
    corpus = lookup(catalog.corpora, reproduction.corpus, "corpus", where)
    if root and corpus.generated and not (root / corpus.generated.grammar).is_file():
        raise UserError(
            f"{where}: {corpus.generated.grammar}, the grammar of {reproduction.corpus}, is not"
            " there."
        )
    check_rows(reproduction, catalog, where)
    if overrides:
        reproduction = overridden_reproduction(reproduction, overrides, catalog, where)
    catalog = catalog.with_rows(reproduction.experiments)
    check_tables(reproduction, catalog, corpus, where)
    return reproduction, catalog


def check_rows(reproduction: Reproduction, catalog: Catalog, where: str) -> None:
    """Raise UserError for a row of a table that no entry declares."""
    for name, table in reproduction.tables.items():
        for row in table.experiments:
            declared = split_name(row)[0]
            if declared in catalog.bases:
                raise UserError(
                    f"{where}, table {name}: {declared} is only a base: give it a family and a"
                    " title."
                )
            lookup(catalog.rows, declared, "experiment", f"{where}, table {name}")


def check_tables(reproduction: Reproduction, catalog: Catalog, corpus: Corpus, where: str) -> None:
    """Raise UserError for a table that cannot be made."""
    tested = {split: None for split in corpus.split_names if split != "train"}
    for name, table in reproduction.tables.items():
        here = f"{where}, table {name}"
        for row in table.experiments:
            check_positions(row, reproduction, catalog, here)
        check_titles(table, catalog, here)
        if table.base in catalog.ensembles:
            raise UserError(f"{here}: its base {table.base} is an ensemble, which has no settings.")
        for counterpart in table.counterparts.values():
            lookup(catalog.rows, counterpart, "experiment", f"{here}, counterparts")
        if "perplexity" in table.metrics and catalog.ensembles.keys() & table.experiments:
            raise UserError(f"{here}: perplexity is measured of single models, not of ensembles.")
        lookup(tested, table.split, "split", here)
    name, first = next(iter(reproduction.tables.items()))
    if not catalog.experiments.keys() & first.experiments:
        raise UserError(
            f"{where}, table {name}: the first table is drawn, and ensembles alone leave nothing to"
            " draw."
        )


def check_positions(row: str, reproduction: Reproduction, catalog: Catalog, where: str) -> None:
    """Raise UserError where a training pair may be longer than a model has positions for."""
    for name, _ in catalog.trainings(row, [1]):
        experiment = catalog.experiment(name)
        longest = catalog.cleaning(reproduction.corpus, experiment.vocabulary).max_length
        reach = experiment.model.reach
        if reach is not None and reach < longest:
            raise UserError(
                f"{where}: {name} has positions for {reach} subwords a side, but learns from pairs"
                f" up to {longest}: raise its max_positions, or lower max_length."
            )


def check_titles(table: Table, catalog: Catalog, where: str) -> None:
    """Raise UserError for two rows of one title, which a reader could not tell apart."""
    rows: dict[str, str] = {}
    for row in table.experiments:
        first = rows.setdefault(catalog.rows[row].title, row)
        if first != row:
            raise UserError(
                f"{where}: {first} and {row} have the title {catalog.rows[row].title!r}: give one"
                " another title."
            )


def overridden_reproduction(
    reproduction: Reproduction, overrides: dict[str, object], catalog: Catalog, where: str
) -> Reproduction:
    """Return the reproduction with the overrides in the names of its rows and in its own.

    Raises UserError for a key that no experiment has, and for a value that cannot be a part of a
    name.
    """
    keys = {row: keys_of(row, overrides, catalog) for row in reproduction.experiments}
    known = set().union(*keys.values())
    for key, value in overrides.items():
        if key not in known:
            hint = nearest(key, known)
            raise UserError(
                f"{where}: no experiment of this reproduction uses the key {key!r}: {hint}"
            )
        if not isinstance(value, int | float | str) or not re.fullmatch(NAME, text(value)):
            raise UserError(
                f"{where}: {key} can be set for all experiments to a number or a word, not to"
                f" {value!r}."
            )
    renamed = {row: with_overrides(row, overrides, keys[row]) for row in keys}
    tables = {
        name: table.model_copy(
            update={
                "experiments": [renamed[row] for row in table.experiments],
                "base": None if table.base is None else renamed[table.base],
                "counterparts": {
                    renamed[row]: counterpart for row, counterpart in table.counterparts.items()
                },
            }
        )
        for name, table in reproduction.tables.items()
    }
    name = with_overrides(reproduction.name, overrides, overrides)
    changes = {
        "name": name,
        "title": ", ".join([reproduction.title, *name.split(BEFORE_KEY)[1:]]),
        "tables": tables,
        "seeds_of": {renamed[row]: seeds for row, seeds in reproduction.seeds_of.items()},
    }
    return reproduction.model_copy(update=changes)


def keys_of(row: str, overrides: dict[str, object], catalog: Catalog) -> set[str]:
    """Return the keys that have an effect in all experiments that a row rests on."""
    experiments = [catalog.experiment(name) for name, _ in catalog.trainings(row, [1])]
    return set.intersection(*(effective_keys(experiment, overrides) for experiment in experiments))
