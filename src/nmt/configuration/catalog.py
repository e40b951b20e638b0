"""All that reproductions choose from: a folder of YAML files."""

from collections.abc import Iterable
from pathlib import Path

from nmt.configuration.corpora import Archive, Cleaning, Corpus
from nmt.configuration.experiments import Ensemble, Experiment, Vocabulary
from nmt.configuration.overrides import overridden_ensemble, overridden_experiment, split_name
from nmt.configuration.published import Published
from nmt.configuration.rows import (
    Entry,
    check_shared_training,
    check_vocabulary,
    resolved_ensemble,
    resolved_experiment,
)
from nmt.configuration.strict import Name, Strict, check_names, lookup, read_yaml, validated
from nmt.errors import UserError, nearest

KINDS = {"vocabularies": "vocabulary", "experiments": "entry", "ensembles": "ensemble"}


class Catalog(Strict):
    """Corpora, vocabularies, experiments and published numbers, by name."""

    corpora: dict[Name, Corpus]
    vocabularies: dict[Name, Vocabulary]
    experiments: dict[Name, Experiment]
    bases: list[Name]
    """Entries without a family, which can only be the base of others."""
    ensembles: dict[Name, Ensemble]
    published: list[Published]

    def corpus(self, name: str) -> Corpus:
        """Return a corpus; raises UserError for an unknown one."""
        return lookup(self.corpora, name, "corpus")

    def vocabulary(self, name: str) -> Vocabulary:
        """Return a vocabulary; raises UserError for an unknown one."""
        return lookup(self.vocabularies, name, "vocabulary")

    def experiment(self, name: str) -> Experiment:
        """Return an experiment, whose name may have overrides.

        Raises UserError for an unknown one.
        """
        if split_name(name)[1] and name not in self.experiments:
            return self.with_rows([name]).experiments[name]
        return lookup(self.experiments, name, "experiment")

    def cleaning(self, corpus: str, vocabulary: str) -> Cleaning:
        """Return which training pairs of a corpus are kept for a vocabulary."""
        return self.corpus(corpus).cleaning_for(self.vocabulary(vocabulary).max_length)

    def with_rows(self, names: Iterable[str]) -> "Catalog":
        """Return a catalog that also has these rows with overrides, and what they rest on."""
        experiments, ensembles = dict(self.experiments), dict(self.ensembles)
        waiting = list(names)
        while waiting:
            name = waiting.pop()
            if name in experiments or name in ensembles:
                continue
            if split_name(name)[0] in ensembles:
                ensembles[name] = overridden_ensemble(name, ensembles, experiments)
                waiting += ensembles[name].members
            else:
                experiments[name] = overridden_experiment(name, experiments)
                check_vocabulary(experiments[name], self.vocabularies, name)
                waiting += filter(None, [experiments[name].trained_as])
        return self.model_copy(update={"experiments": experiments, "ensembles": ensembles})

    @property
    def rows(self) -> dict[str, Experiment | Ensemble]:
        """What a table can name."""
        return self.experiments | self.ensembles

    def with_learned_positions(self, rows: Iterable[str]) -> list[str]:
        """Return those of the rows that are experiments with learned positions."""
        models = {name: self.experiments[name].model for name in rows if name in self.experiments}
        return [name for name in models if getattr(models[name], "positions", None) == "learned"]

    def trainings(self, row: str, seeds: list[int]) -> list[tuple[str, int]]:
        """Return the experiments and seeds that a row rests on: an ensemble's are its own."""
        members = self.ensembles[row].members if row in self.ensembles else {row: seeds}
        return [(name, seed) for name, own_seeds in members.items() for seed in own_seeds]


def load_catalog(folder: str | Path) -> Catalog:
    """Read and validate corpora.yaml, experiments/*.yaml and published.yaml in `folder`.

    Raises UserError naming the file, the entry and the key at fault.
    """
    folder = Path(folder)
    corpora = load_corpora(folder / "corpora.yaml")
    declared = read_experiments(folder / "experiments")
    vocabularies = {
        name: validated(Vocabulary, entry.values, entry.where)
        for name, entry in declared["vocabularies"].items()
    }
    entries = declared["experiments"]
    resolved = {name: resolved_experiment(name, entries, vocabularies) for name in entries}
    experiments = {name: row for name, row in resolved.items() if row is not None}
    for name in experiments:
        check_shared_training(name, experiments, entries[name].where)
    for name, entry in declared["ensembles"].items():
        if name in experiments:
            raise UserError(f"{entry.where}: there is an experiment of that name.")
    ensembles = {
        name: resolved_ensemble(entry, experiments) for name, entry in declared["ensembles"].items()
    }
    values = {
        "corpora": corpora,
        "vocabularies": vocabularies,
        "experiments": experiments,
        "bases": [name for name, row in resolved.items() if row is None],
        "ensembles": ensembles,
        "published": load_published(folder / "published.yaml", corpora, experiments | ensembles),
    }
    return validated(Catalog, values, str(folder))


def load_corpora(file: Path) -> dict[str, Corpus]:
    """Return the corpora of a file; an archive's name must mean one file: downloads are shared."""
    corpora = {
        name: validated(Corpus, values, f"{file}, entry {name}")
        for name, values in read_yaml(file, dict).items()
    }
    seen: dict[str, tuple[str, Archive]] = {}
    for corpus_name, corpus in corpora.items():
        for name, archive in corpus.archives.items():
            first_corpus, first = seen.setdefault(name, (corpus_name, archive))
            if first != archive:
                raise UserError(
                    f"{file}: the archive {name} is not the same in {first_corpus} and"
                    f" {corpus_name}: rename one."
                )
    return corpora


def read_experiments(folder: Path) -> dict[str, dict[str, Entry]]:
    """Return the entries of all files in a folder, by kind and name.

    Raises UserError for a name that is there twice.
    """
    declared: dict[str, dict[str, Entry]] = {kind: {} for kind in KINDS}
    files = sorted(folder.glob("*.yaml"))
    if not files:
        raise UserError(f"{folder} has no files that declare experiments, such as demo.yaml.")
    for file in files:
        for kind, entries in read_yaml(file, dict).items():
            if kind not in KINDS:
                raise UserError(f"{file}: unknown key {kind!r}: {nearest(str(kind), KINDS)}")
            if not isinstance(entries or {}, dict):
                raise UserError(f"{file}, {kind}: expected names with keys and values.")
            check_names(entries or {}, f"{file}, {kind}")
            for name, values in (entries or {}).items():
                where = f"{file}, {KINDS[kind]} {name}"
                if name in declared[kind]:
                    raise UserError(f"{where} is there twice: {declared[kind][name].where}.")
                if not isinstance(values, dict):
                    raise UserError(f"{where}: expected keys and values.")
                declared[kind][name] = Entry(values, where)
    return declared


def load_published(
    file: Path, corpora: dict[str, Corpus], rows: dict[str, Experiment | Ensemble]
) -> list[Published]:
    """Return the published numbers; raises UserError for unknown corpora, rows and splits."""
    published = []
    for number, values in enumerate(read_yaml(file, list), start=1):
        where = f"{file}, entry {number}"
        entry = validated(Published, values, where)
        lookup(corpora, entry.corpus, "corpus", where)
        if entry.experiment is not None:
            lookup(rows, entry.experiment, "experiment", where)
        if entry.split is not None:
            splits = dict.fromkeys(corpora[entry.corpus].split_names)
            lookup(splits, entry.split, "split", where)
        published.append(entry)
    return published
