"""All that reproductions choose from: a folder of YAML files, and entries of their own."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from nmt.configuration import rows
from nmt.configuration.corpora import Archive, Cleaning, Corpus
from nmt.configuration.experiments import CHECKPOINT_KEYS, Ensemble, Experiment, Vocabulary
from nmt.configuration.models import DecoderOnly, Transformer
from nmt.configuration.published import Published
from nmt.configuration.strict import NAME, lookup, read_list, read_yaml, validated
from nmt.errors import UserError, nearest
from nmt.provenance import REPOSITORY

CLASSES: dict[str, type] = {"corpora": Corpus, "vocabularies": Vocabulary, "ensembles": Ensemble}
# What a configuration's file may declare beside what it chooses
KINDS = ("experiments", *CLASSES)


@dataclass(frozen=True)
class Catalog:
    """Corpora, vocabularies, experiments and published numbers, by name, and their folder."""

    folder: Path
    corpora: dict[str, Corpus]
    vocabularies: dict[str, Vocabulary]
    entries: rows.Entries
    experiments: dict[str, Experiment]
    ensembles: dict[str, Ensemble]
    published: list[Published]

    def corpus(self, name: str) -> Corpus:
        """Return a corpus; raises UserError for an unknown one."""
        return lookup(self.corpora, name, "corpus")

    def vocabulary(self, name: str, where: str = "") -> Vocabulary:
        """Return a vocabulary, whose name may have a size, as "raw-bpe-8000+size-4000".

        It may also say from which model its subwords are. Raises UserError for an unknown one.
        """
        declared, overrides = rows.split_name(name)
        vocabulary = lookup(self.vocabularies, declared, "vocabulary", where)
        overrides.pop("from", None)
        values = vocabulary.model_dump() | overrides
        if vocabulary.source_size:
            values["source_size"] = overrides.get("size", vocabulary.source_size)
        return validated(Vocabulary, values, name)

    def experiment(self, name: str) -> Experiment:
        """Return an experiment, whose name may have overrides.

        Raises UserError for an unknown one.
        """
        if name in self.experiments:
            return self.experiments[name]
        experiment = rows.experiment(name, self.entries)
        if experiment is None:
            raise UserError(f"{name} is only a base: give it a family and a title.")
        self.check(name, experiment)
        return experiment

    def check(self, where: str, experiment: Experiment) -> None:
        """Raise UserError where an experiment does not suit its vocabulary or shared training."""
        vocabulary = self.vocabulary(experiment.vocabulary, where)
        model = experiment.model
        is_joint = isinstance(model, DecoderOnly) or (
            isinstance(model, Transformer) and model.tie == "all"
        )
        if is_joint and vocabulary.source_size:
            raise UserError(
                f"{where}: the model needs one vocabulary for both sides, {experiment.vocabulary}"
                " is two."
            )
        if experiment.trained_as is None:
            return
        lookup(self.entries, rows.split_name(experiment.trained_as)[0], "trained_as", where)
        shared = self.experiment(experiment.trained_as)
        kept = {key: getattr(shared.training, key) for key in CHECKPOINT_KEYS}
        if (
            shared.trained_as
            or (experiment.vocabulary, experiment.model) != (shared.vocabulary, shared.model)
            or experiment.training.changed(**kept) != shared.training
            or experiment.training.average > shared.training.average
        ):
            raise UserError(
                f"{where}, trained_as: only search, checkpoint and average (not above"
                f" {shared.training.average}) may differ from {experiment.trained_as}, which is"
                " trained itself."
            )

    def with_rows(self, names: Iterable[str]) -> "Catalog":
        """Return a catalog that also has these rows with overrides, and what they rest on."""
        experiments, ensembles = dict(self.experiments), dict(self.ensembles)
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if rows.split_name(name)[0] in self.ensembles:
                ensembles[name] = rows.ensemble(name, self.ensembles, self.entries)
                waiting += ensembles[name].members
            elif name not in experiments:
                experiments[name] = self.experiment(name)
                waiting += filter(None, [experiments[name].trained_as])
        return replace(self, experiments=experiments, ensembles=ensembles)

    @property
    def rows(self) -> dict[str, Experiment | Ensemble]:
        """What a table can name."""
        return self.experiments | self.ensembles

    def cleaning(self, corpus: str, vocabulary: str) -> Cleaning:
        """Return which training pairs of a corpus are kept for a vocabulary."""
        cleaning = self.corpus(corpus).cleaning
        own = self.vocabulary(vocabulary).max_length
        return cleaning.changed(max_length=own or cleaning.max_length)

    def trainings(self, row: str, seeds: list[int]) -> list[tuple[str, int]]:
        """Return the experiments and seeds that a row rests on: an ensemble's are its own."""
        members = self.ensembles[row].members if row in self.ensembles else {row: seeds}
        return [(name, seed) for name, own_seeds in members.items() for seed in own_seeds]

    def is_lowercased(self, row: str) -> bool:
        """Return whether a row, or a member of an ensemble, learns lower-cased text."""
        members = [self.experiment(name) for name, _ in self.trainings(row, [1])]
        return any(self.vocabulary(member.vocabulary).lowercase for member in members)


def load_catalog(path: str | Path) -> Catalog:
    """Read and validate corpora.yaml, experiments/*.yaml and published.yaml.

    path: their folder; or a configuration's file, whose entries come on top of those in the
    repository's folder config. Raises UserError naming the file, the entry and the key at fault.
    """
    folder = REPOSITORY / "config" if Path(path).is_file() else Path(path)
    declared = read_entries(folder, Path(path))
    made = {
        kind: {name: validated(cls, e.values, e.where) for name, e in declared[kind].items()}
        for kind, cls in CLASSES.items()
    }
    check_archives(made["corpora"])
    ensembles, entries = made["ensembles"], declared["experiments"]
    resolved = {name: rows.experiment(name, entries) for name in entries}
    published: dict[str, Published] = read_list(folder / "published.yaml", Published)
    catalog = Catalog(
        **made,
        folder=folder,
        entries=entries,
        experiments={name: row for name, row in resolved.items() if row is not None},
        published=list(published.values()),
    )
    for name, experiment in catalog.experiments.items():
        catalog.check(entries[name].where, experiment)
    for name in ensembles:
        members = rows.ensemble(name, ensembles, entries).members
        if len({catalog.experiment(member).vocabulary for member in members}) > 1:
            raise UserError(
                f"{declared['ensembles'][name].where}: its members need one vocabulary."
            )
    for where, entry in published.items():
        corpus = lookup(catalog.corpora, entry.corpus, "corpus", where)
        if entry.experiment is not None:
            lookup(catalog.rows, entry.experiment, "experiment", where)
        if entry.split is not None:
            lookup(dict.fromkeys(corpus.split_names), entry.split, "split", where)
    return catalog


def check_archives(corpora: dict[str, Corpus]) -> None:
    """Raise UserError where an archive's name does not mean one file: downloads are shared."""
    seen: dict[str, Archive] = {}
    for corpus in corpora.values():
        for name, archive in corpus.archives.items():
            if seen.setdefault(name, archive) != archive:
                raise UserError(f"the archive {name} is not the same in all corpora: rename one.")


def read_entries(folder: Path, own: Path) -> dict[str, rows.Entries]:
    """Return the entries of a folder's files, and of a configuration's own, by kind and name.

    Raises UserError for a name that is there twice.
    """
    files = {folder / "corpora.yaml": {"corpora": read_yaml(folder / "corpora.yaml", dict)}}
    files |= {file: read_yaml(file, dict) for file in sorted(folder.glob("experiments/*.yaml"))}
    if own.is_file():
        files[own] = {k: entries for k, entries in read_yaml(own, dict).items() if k in KINDS}
    declared: dict[str, rows.Entries] = {kind: {} for kind in KINDS}
    for file, kinds in files.items():
        for kind, entries in kinds.items():
            if kind not in KINDS:
                raise UserError(f"{file}: unknown key {kind!r}: {nearest(str(kind), KINDS)}")
            for name, values in (entries or {}).items():
                where = f"{file}, {kind}, {name}"
                if not re.fullmatch(NAME, str(name)):  # shells would run some of it
                    raise UserError(f"{where}: a name has letters, digits, _, . and - alone.")
                if name in declared["experiments"] | declared["ensembles"] | declared[kind]:
                    raise UserError(f"{where} is there twice: choose another name.")
                if not isinstance(values, dict):
                    raise UserError(f"{where}: expected keys and values.")
                declared[kind][name] = rows.Entry(values, where)
    if not declared["experiments"]:
        raise UserError(f"{folder} has no experiments/*.yaml that declare any.")
    return declared
