"""What a reproduction is (config/demo.yaml, say), and the catalog of YAML files that it chooses
from.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

from pydantic import Field, model_validator

from nmt.configuration.corpora import Archive, Corpus
from nmt.configuration.experiments import (
    Ensemble,
    Experiment,
    Vocabulary,
)
from nmt.configuration.overrides import (
    KEYS,
    overridden_ensemble,
    overridden_experiment,
    row_keys,
    text,
    with_overrides,
)
from nmt.configuration.rows import check_shared_training, resolved_ensemble, resolved_experiment
from nmt.configuration.strict import (
    NAME,
    Name,
    RowName,
    Seed,
    Strict,
    Text,
    check_names,
    lookup,
    read_yaml,
    validated,
)
from nmt.errors import UserError, nearest

METRICS = {
    "bleu": "BLEU (sacreBLEU)",
    "lowercased_bleu": "BLEU (sacreBLEU, lower-cased)",
    "chrf": "chrF",
    "ter": "TER",
    "tokenized_bleu": "BLEU (tokenized)",
    "compound_split_bleu": "BLEU (tokenized, compounds split)",
    "quotes_mapped_bleu": "BLEU (tokenized, quotes mapped)",
    "quotes_mapped_compound_split_bleu": "BLEU (tokenized, quotes mapped, compounds split)",
    "lowercased_tokenized_bleu": "BLEU (lower-cased, tokenized)",
    "perplexity": "perplexity",
}
COSTS = {
    "flops": "training FLOPs",
    "parameters": "parameters (millions)",
    "parameters_without_embeddings": "parameters without embedding tables (millions)",
}


def once(key: str, values: list) -> None:
    """Raises ValueError when a value is there twice."""
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"{key}: {value} is there twice")


class Published(Strict):
    """A number as printed in a paper, for a row of ours (`experiment`) or a system we only cite
    (`system`).

    metric: one of METRICS, measured on `split`, or one of COSTS, which belong to no split.
    """

    corpus: Name
    split: Name | None = None
    metric: str
    value: float
    source: str
    experiment: Name | None = None
    system: str | None = None

    @model_validator(mode="after")
    def check(self) -> "Published":
        if (self.experiment is None) == (self.system is None):
            raise ValueError("give either experiment or system")
        if self.metric not in METRICS | COSTS:
            raise ValueError(
                f"unknown metric {self.metric!r}: {nearest(self.metric, METRICS | COSTS)}"
            )
        if (self.split is None) != (self.metric in COSTS):
            raise ValueError(
                f"{self.metric} {'belongs to no' if self.metric in COSTS else 'needs a'} split"
            )
        return self


class Table(Strict):
    """Rows (experiments and ensembles) and what is printed of them; `metrics` are columns, of the
    split named.

    on_request: made only when asked for by its name, as in `snakemake table3`.
    """

    title: Text
    experiments: Annotated[list[RowName], Field(min_length=1)]
    split: Name
    metrics: Annotated[list[str], Field(min_length=1)]
    on_request: bool = False

    @model_validator(mode="after")
    def check(self) -> "Table":
        once("experiments", self.experiments)
        once("metrics", self.metrics)
        for metric in self.metrics:
            if metric not in METRICS:
                raise ValueError(f"unknown metric {metric!r}: {nearest(metric, METRICS)}")
            if metric == "perplexity" and self.split != "dev":
                raise ValueError("perplexity is measured on the split dev alone")
        return self


KEPT = (
    "benchmark",
    "benchmarks",
    "corpora",
    "downloads",
    "logs",
    "runs",
)  # folders of results beside its own


class Reproduction(Strict):
    """What one command makes: runs of rows on a corpus, with tables and figures made of them.

    catalog: the folder of corpora.yaml, experiments.yaml and published.yaml.
    seeds: of every row; seeds_of: of single rows, where these need more or fewer.
    attention: a source sentence whose attention maps are drawn.
    mirror: a folder looked in before any address; the environment variable NMT_MIRROR says the
      same.
    """

    name: RowName
    title: Text
    corpus: Name
    seeds: Annotated[list[Seed], Field(min_length=1)]
    seeds_of: dict[RowName, Annotated[list[Seed], Field(min_length=1)]] = Field(default={})
    tables: Annotated[dict[Name, Table], Field(min_length=1)]
    attention: Text
    catalog: str = "config"
    mirror: str | None = None

    @model_validator(mode="after")
    def check(self) -> "Reproduction":
        once("seeds", self.seeds)
        for row, seeds in self.seeds_of.items():
            once(f"seeds_of, {row}", seeds)
            if row not in self.experiments:
                raise ValueError(
                    f"seeds_of: no table has the row {row!r}: {nearest(row, self.experiments)}"
                )
        if self.name in KEPT:
            raise ValueError(
                f"name: results/{self.name} is a folder of the workflow's own, choose another"
            )
        return self

    def seeds_for(self, row: str) -> list[int]:
        return self.seeds_of.get(row, self.seeds)

    @property
    def experiments(self) -> list[str]:
        """Every row of every table, once."""
        return list(
            dict.fromkeys(name for table in self.tables.values() for name in table.experiments)
        )


class Catalog(Strict):
    corpora: dict[Name, Corpus]
    vocabularies: dict[Name, Vocabulary]
    experiments: dict[Name, Experiment]
    bases: list[Name]  # entries without a family, which only others can name
    ensembles: dict[Name, Ensemble]
    published: list[Published]

    def corpus(self, name: str) -> Corpus:
        return lookup(self.corpora, name, "corpus")

    def vocabulary(self, name: str) -> Vocabulary:
        return lookup(self.vocabularies, name, "vocabulary")

    def experiment(self, name: str) -> Experiment:
        """Raises UserError for an unknown row; a declared row's name may have overrides behind
        it.
        """
        if "," in name and name not in self.experiments:
            return self.with_rows([name]).experiments[name]
        return lookup(self.experiments, name, "experiment")

    def with_rows(self, names: Iterable[str]) -> "Catalog":
        """Return a catalog that also has the rows of these names, with overrides, and what they
        rest on.
        """
        experiments, ensembles, waiting = dict(self.experiments), dict(self.ensembles), list(names)
        while waiting:
            name = waiting.pop()
            if name in experiments or name in ensembles:
                continue
            if name.partition(",")[0] in ensembles:
                ensembles[name] = overridden_ensemble(name, ensembles, experiments)
                waiting += ensembles[name].members
            else:
                experiments[name] = overridden_experiment(name, experiments)
                lookup(self.vocabularies, experiments[name].vocabulary, "vocabulary", name)
                waiting += filter(None, [experiments[name].trained_as])
        return self.model_copy(update={"experiments": experiments, "ensembles": ensembles})

    @property
    def rows(self) -> dict[str, Experiment | Ensemble]:
        """What a table can name."""
        return self.experiments | self.ensembles

    def trainings(self, row: str, seeds: list[int]) -> list[tuple[str, int]]:
        """The experiments and seeds that a row rests on: an ensemble's are its own."""
        members = self.ensembles[row].members if row in self.ensembles else {row: seeds}
        return [(name, seed) for name, chosen in members.items() for seed in chosen]


def load_catalog(folder: str | Path) -> Catalog:
    """Reads and validates corpora.yaml, experiments.yaml and published.yaml in `folder`.

    Raises UserError naming the file, the entry and the key at fault.
    """
    folder = Path(folder)
    corpora_file, experiments_file, published_file = (
        folder / name for name in ("corpora.yaml", "experiments.yaml", "published.yaml")
    )
    corpora = {
        name: validated(Corpus, values, f"{corpora_file}, entry {name}")
        for name, values in read_yaml(corpora_file, dict).items()
    }
    check_archives(corpora, str(corpora_file))
    declared = read_yaml(experiments_file, dict)
    known = ["vocabularies", "experiments", "ensembles"]
    for key, value in declared.items():
        if key not in known:
            raise UserError(f"{experiments_file}: unknown key {key!r}: {nearest(str(key), known)}")
        if not isinstance(value or {}, dict):
            raise UserError(f"{experiments_file}, {key}: expected names with keys and values.")
        check_names(value or {}, f"{experiments_file}, {key}")
    vocabularies = {
        name: validated(Vocabulary, values, f"{experiments_file}, vocabulary {name}")
        for name, values in (declared.get("vocabularies") or {}).items()
    }
    entries = declared.get("experiments") or {}
    experiments = {
        name: experiment
        for name in entries
        if (experiment := resolved_experiment(name, entries, vocabularies, str(experiments_file)))
        is not None
    }
    for name in experiments:
        check_shared_training(name, experiments, str(experiments_file))
    ensembles = {
        name: resolved_ensemble(name, values, experiments, str(experiments_file))
        for name, values in (declared.get("ensembles") or {}).items()
    }
    published = [
        validated(Published, values, f"{published_file}, entry {number}")
        for number, values in enumerate(read_yaml(published_file, list), start=1)
    ]
    for number, entry in enumerate(published, start=1):
        known = [
            ("corpus", entry.corpus, corpora),
            ("experiment", entry.experiment, experiments | ensembles),
        ]
        for key, name, names in known:
            if name is not None:
                lookup(names, name, key, f"{published_file}, entry {number}")
        if entry.split is not None:
            splits = dict.fromkeys(corpora[entry.corpus].split_names)
            lookup(splits, entry.split, "split", f"{published_file}, entry {number}")
    found = {"corpora": corpora, "vocabularies": vocabularies, "published": published}
    found |= {"experiments": experiments, "ensembles": ensembles}
    return validated(
        Catalog,
        found | {"bases": [name for name in entries if name not in experiments]},
        str(folder),
    )


def check_archives(corpora: dict[str, Corpus], file: str) -> None:
    """Downloads are shared by name, so one name must not mean two files."""
    seen: dict[str, tuple[str, Archive]] = {}
    for corpus_name, corpus in corpora.items():
        for name, archive in corpus.archives.items():
            other, known = seen.setdefault(name, (corpus_name, archive))
            if known != archive:
                raise UserError(
                    f"{file}: the archive {name} is not the same in {other} and {corpus_name}:"
                    " rename one."
                )


def check_positions(row: str, corpus: Corpus, catalog: Catalog, where: str) -> None:
    """Raises UserError where a training pair may be longer than the learned positions of a model
    reach.
    """
    for name, _ in catalog.trainings(row, [1]):
        experiment = catalog.experiment(name)
        longest = catalog.vocabulary(experiment.vocabulary).max_length or corpus.cleaning.max_length
        reach = experiment.model.reach
        if reach is not None and reach < longest:
            raise UserError(
                f"{where}: {name} has positions for {reach} subwords a side, but learns from pairs"
                f" up to {longest}: raise its max_positions, or lower max_length."
            )


def overridden_reproduction(
    reproduction: Reproduction, overrides: dict[str, object], catalog: Catalog, where: str
) -> Reproduction:
    """Return the reproduction with the overrides in the names of all rows that know the keys, and
    in its own.

    Raises UserError for a key that no row knows, and for a value that cannot be a part of a name.
    """
    keys = {
        row: set.intersection(
            *(row_keys(catalog.experiment(name)) for name, _ in catalog.trainings(row, [1]))
        )
        for row in reproduction.experiments
    }
    known = set().union(*keys.values())
    for key, value in overrides.items():
        if key not in known:
            raise UserError(
                f"{where}: no row of this reproduction has the key {key!r}: {nearest(key, known)}"
            )
        if not isinstance(value, int | float | str) or not re.fullmatch(NAME, text(value)):
            raise UserError(
                f"{where}: {key} can be set for all rows to a number or a word, not to {value!r}."
            )
    tables = {
        name: table.model_copy(
            update={
                "experiments": [
                    with_overrides(row, overrides, keys[row]) for row in table.experiments
                ]
            }
        )
        for name, table in reproduction.tables.items()
    }
    seeds_of = {
        with_overrides(row, overrides, keys[row]): seeds
        for row, seeds in reproduction.seeds_of.items()
    }
    name = with_overrides(reproduction.name, overrides, overrides)
    title = ", ".join([reproduction.title, *name.split(",")[1:]])
    return reproduction.model_copy(
        update={"name": name, "title": title, "tables": tables, "seeds_of": seeds_of}
    )


def load_reproduction(
    values: dict, where: str = "the configuration"
) -> tuple[Reproduction, Catalog]:
    """The reproduction that `values` (a parsed config/*.yaml) describe, checked against its
    catalog.
    """
    overrides = {
        key: value
        for key, value in values.items()
        if key in KEYS - Reproduction.model_fields.keys()
    }
    reproduction = validated(
        Reproduction, {k: v for k, v in values.items() if k not in overrides}, where
    )
    catalog = load_catalog(reproduction.catalog)
    corpus = lookup(catalog.corpora, reproduction.corpus, "corpus", where)
    if corpus.generated and not Path(corpus.generated.grammar).is_file():
        raise UserError(
            f"{where}: {corpus.generated.grammar}, the grammar of {reproduction.corpus}, is not"
            " there."
        )
    tested = {split: None for split in corpus.split_names if split != "train"}
    for name, table in reproduction.tables.items():
        for experiment in table.experiments:
            experiment = experiment.partition(",")[0]
            if experiment in catalog.bases:
                raise UserError(
                    f"{where}, table {name}: {experiment} is only a base: give it a family and a"
                    " title."
                )
            lookup(catalog.rows, experiment, "experiment", f"{where}, table {name}")
    if overrides:
        reproduction = overridden_reproduction(reproduction, overrides, catalog, where)
    catalog = catalog.with_rows(reproduction.experiments)
    for name, table in reproduction.tables.items():
        for experiment in table.experiments:
            check_positions(experiment, corpus, catalog, f"{where}, table {name}")
        if "perplexity" in table.metrics and catalog.ensembles.keys() & table.experiments:
            raise UserError(
                f"{where}, table {name}: perplexity is measured of single models, not of ensembles."
            )
        lookup(tested, table.split, "split", f"{where}, table {name}")
    name, first = next(iter(reproduction.tables.items()))
    if not catalog.experiments.keys() & first.experiments:
        raise UserError(
            f"{where}, table {name}: the first table is drawn, and ensembles alone leave nothing to"
            " draw."
        )
    return reproduction, catalog
