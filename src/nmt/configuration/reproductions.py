"""What a reproduction is: config/demo.yaml, say."""

import re
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from nmt.configuration.catalog import KINDS, Catalog, load_catalog
from nmt.configuration.corpora import Corpus
from nmt.configuration.rows import OVERRIDABLE, split_name, text, with_overrides
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
from nmt.evaluation.metrics import METRICS, metrics_for

# Folders of results beside a reproduction's own
RESERVED = ("benchmarks", "corpora", "downloads", "logs", "runs")
# Tables and targets that every reproduction has
OF_ALL = ("all", "claims", "complexity", "corpora", "plan")

Seeds = Annotated[list[Seed], Field(min_length=1)]


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

    @property
    def leading_metric(self) -> str:
        """The metric of findings and figures: the first of translations, or perplexity alone."""
        return next((name for name in self.metrics if METRICS[name].scorer), self.metrics[0])

    @model_validator(mode="after")
    def check(self) -> "Table":
        """Refuse unknown metrics, and rows that are there twice or not at all."""
        for key in ("experiments", "metrics"):
            check_once(key, getattr(self, key))
        for metric in self.metrics:
            if metric not in METRICS:
                raise ValueError(f"unknown metric {metric!r}: {nearest(metric, METRICS)}")
        if "perplexity" in self.metrics and self.split != "dev":
            raise ValueError("perplexity is measured on the split dev alone")
        for row in [*filter(None, [self.base]), *self.counterparts]:
            if row not in self.experiments:
                raise ValueError(f"{row!r} is no row of it: {nearest(row, self.experiments)}")
        if self.counterparts and self.base not in self.counterparts:
            raise ValueError("counterparts: the base needs one, to which theirs are compared")
        return self

    @property
    def leads_by_less(self) -> bool:
        """Whether the lowest value of the leading metric is the best."""
        return METRICS[self.leading_metric].lower_is_better

    @property
    def compared(self) -> list[str]:
        """The metrics whose differences are tested for significance."""
        return [metric for metric in self.metrics if METRICS[metric].scorer]


class Reproduction(Strict):
    """What one command makes: training runs, and tables and figures of their results.

    `corpora`, `vocabularies`, `experiments` and `ensembles` of its own may stand in the file too.
    """

    name: RowName
    """Name of the folder in results."""
    title: Text
    """Heading of the printed page or table."""
    corpus: Name
    """Corpus, an entry of corpora.yaml."""
    seeds: Seeds | dict[RowName, Seeds]
    """Random seeds of every experiment; or seeds by experiment, those of all others as
    `default`."""
    only: list[RowName] = Field(default=[])
    """Rows to make, of those that the tables have; all if empty."""
    tables: Annotated[dict[Name, Table], Field(min_length=1)]
    """Tables by name; each has its figures, and those of attention are drawn for the first."""
    attention: Text
    """Sentence in the source language: the figure `attention` shows how each system attends to it
    while translating."""
    mirror: str | None = None
    """Folder searched for archives before any download; the environment variable NMT_MIRROR also
    sets it."""

    @model_validator(mode="after")
    def check(self) -> "Reproduction":
        """Refuse seeds of no row, and names that results and targets have a use for."""
        by_row = self.seeds if isinstance(self.seeds, dict) else {"default": self.seeds}
        if "default" not in by_row:
            raise ValueError("seeds: `default` is missing, the seeds of all other rows")
        for row, seeds in by_row.items():
            check_once("seeds", seeds)
            if row not in ("default", *self.experiments):
                raise ValueError(f"seeds: {row!r} is no row: {nearest(row, self.experiments)}")
        first = next(iter(self.tables))
        if self.tables[first].on_request:
            raise ValueError(f"tables: {first} comes first and is drawn: it cannot be on_request")
        if self.name in RESERVED:
            raise ValueError(f"name: results/{self.name} is the workflow's own, choose another")
        for table in self.tables:
            if table in OF_ALL:
                raise ValueError(f"tables: {table} is a name of the workflow's, choose another")
        return self

    def seeds_for(self, row: str) -> list[int]:
        """Return the seeds of a row."""
        if isinstance(self.seeds, dict):
            return self.seeds.get(row, self.seeds["default"])
        return self.seeds

    @property
    def by_default(self) -> "Reproduction":
        """The reproduction without the tables that are made on request."""
        tables = {name: table for name, table in self.tables.items() if not table.on_request}
        return self.model_copy(update={"tables": tables})

    @property
    def experiments(self) -> list[str]:
        """Every row of every table, once."""
        rows = [row for table in self.tables.values() for row in table.experiments]
        return list(dict.fromkeys(rows))

    def with_rows(self, names: dict[str, str], suffix: str = "") -> "Reproduction":
        """Return the reproduction with these rows alone, without tables that lose all.

        names: new names of the rows. suffix: what its own name ends in.
        """
        tables = {}
        for name, table in self.tables.items():
            rows = list(dict.fromkeys(names[row] for row in table.experiments if row in names))
            base = names.get(table.base or "")
            pairs = table.counterparts.items() if base else ()
            counterparts = {names[row]: other for row, other in pairs if row in names}
            if rows:
                tables[name] = table.changed(experiments=rows, base=base, counterparts=counterparts)
        seeds = self.seeds
        if isinstance(seeds, dict):
            kept = {"default": "default"} | names
            seeds = {kept[row]: own for row, own in seeds.items() if row in kept}
        title = ", ".join([self.title, *suffix.split("+")[1:]])
        return self.changed(
            name=self.name + suffix, title=title, tables=tables, only=[], seeds=seeds
        )


def check_once(key: str, values: list) -> None:
    """Raise ValueError when a value is there twice."""
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{key}: {value} is there twice")


def read_reproduction(file: Path, catalog: Path) -> tuple[Reproduction, Catalog]:
    """Return the reproduction of a YAML file, and its catalog, as `load_reproduction` does."""
    return load_reproduction(read_yaml(file, dict), str(file), catalog)


def load_reproduction(values: dict, where: str, path: Path) -> tuple[Reproduction, Catalog]:
    """Return the reproduction that `values` (a parsed config/*.yaml) describe, and its catalog.

    path: of the catalog, as `load_catalog` has it, where entries among the values stand too.
    Keys of rows among the values override those of all rows that know them: nmt.configuration.rows.
    Raises UserError for what makes no sense.
    """
    known = OVERRIDABLE - Reproduction.model_fields.keys()
    overrides = {key: value for key, value in values.items() if key in known}
    own = {key: value for key, value in values.items() if key not in {*overrides, *KINDS}}
    for key in own:
        lookup(dict.fromkeys([*Reproduction.model_fields, *known, *KINDS]), key, "key", where)
    reproduction = validated(Reproduction, own, where)
    for row in reproduction.only:
        lookup(dict.fromkeys(reproduction.experiments), row, "row", f"{where}, only")
    if reproduction.only:
        reproduction = reproduction.with_rows({row: row for row in reproduction.only})
    catalog = load_catalog(path)
    corpus = lookup(catalog.corpora, reproduction.corpus, "corpus", where)
    catalog = catalog.with_rows(reproduction.experiments)
    if overrides:
        reproduction = overridden(reproduction, overrides, catalog, where)
        catalog = catalog.with_rows(reproduction.experiments)
    for name, table in reproduction.tables.items():
        check_table(table, corpus, catalog, f"{where}, table {name}")
    return reproduction, catalog


def overridden(
    reproduction: Reproduction, overrides: dict[str, object], catalog: Catalog, where: str
) -> Reproduction:
    """Return the reproduction with the overrides in the names of its rows and in its own.

    Raises UserError for a key that no row has, and for a value that cannot be a part of a name.
    """
    for key, value in overrides.items():
        if not re.fullmatch(NAME, text(value)):
            raise UserError(f"{where}: {key} of all rows can be a number or a word, not {value!r}.")
    names = {}
    for row in reproduction.experiments:
        members = [catalog.experiments[name] for name, _ in catalog.trainings(row, [1])]
        keys = [{*member.values, "vocabulary", "vocabulary_size"} for member in members]
        known = set.intersection(*keys) if keys else set()
        own = {key: value for key, value in overrides.items() if key in known}
        names[row] = with_overrides(row, own)
    used = {key for name in names.values() for key in split_name(name)[1]}
    for key in overrides:
        if key not in used:
            raise UserError(f"{where}: no row here has the key {key!r}: {nearest(key, used)}")
    return reproduction.with_rows(names, with_overrides("", overrides))


def check_table(table: Table, corpus: Corpus, catalog: Catalog, where: str) -> None:
    """Raise UserError for a table that cannot be made."""
    lookup(dict.fromkeys({*corpus.split_names} - {"train"}), table.split, "split", where)
    for metric in table.metrics:
        lookup(metrics_for(corpus.target), metric, f"metric of {corpus.target}", where)
    for counterpart in table.counterparts.values():
        lookup(catalog.rows, counterpart, "experiment", f"{where}, counterparts")
    ensembles = catalog.ensembles.keys() & table.experiments
    if ensembles and ("perplexity" in table.metrics or table.base in ensembles):
        raise UserError(f"{where}: ensembles have no perplexity, and are no base of others.")
    for row in ensembles:
        splits = catalog.ensembles[row].translations
        if splits and table.split not in splits:
            raise UserError(f"{where}: {row} has no translations of {table.split}: add their file.")
    if not any(catalog.trainings(row, [1]) for row in table.experiments):
        raise UserError(f"{where}: none of its rows is trained: add one that is.")
    titles = [catalog.rows[row].title for row in table.experiments]
    for title in titles:
        if titles.count(title) > 1:
            raise UserError(f"{where}: two rows have the title {title!r}: give one another.")
    for row in table.experiments:
        for name, _ in catalog.trainings(row, [1]):
            experiment = catalog.experiments[name]
            own = catalog.vocabulary(experiment.vocabulary).max_length
            longest = own or corpus.cleaning.max_length
            reach = experiment.model.reach
            if reach is not None and reach < longest:
                raise UserError(
                    f"{where}: {name} has positions for {reach} subwords a side, but learns from"
                    f" pairs up to {longest}: lower max_length of the corpus or the vocabulary."
                )
