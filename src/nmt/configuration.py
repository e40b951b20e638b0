"""The configuration: frozen, validated classes, read from the catalogue (a folder of YAML files).

corpora.yaml says what the data is, experiments.yaml declares every row of every table once, published.yaml
holds the numbers printed in papers, and a reproduction (config/demo.yaml, say) chooses among them.
Unknown keys are errors that name the file, the entry and the nearest known key.
"""

from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from nmt.errors import UserError, nearest

Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, lt=1)]
Positive = Annotated[float, Field(gt=0)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]  # names become parts of file names


class Strict(BaseModel):
    """Frozen; unknown keys are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


# ---------------------------------------------------------------------------------------------- corpora


class Archive(Strict):
    """A file to download: where from, where in a mirror folder, and what it must be."""

    addresses: Annotated[list[str], Field(min_length=1)]
    mirror: str
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None
    md5: Annotated[str, Field(pattern="^[0-9a-f]{32}$")] | None = None
    bytes: Count | None = None


class Part(Strict):
    """Parallel text inside archives. `source` and `target` are "archive" or "archive:member".

    format: lines (one sentence a line, .gz or not), sgml (one <seg> a sentence) or tsv (both sides in one
    member, `columns` says where).
    """

    source: str
    target: str
    format: Literal["lines", "sgml", "tsv"] = "lines"
    columns: tuple[int, int] = (0, 1)


class Generated(Strict):
    """Sentence pairs from a synchronous grammar instead of a download."""

    grammar: str
    seed: int
    sizes: dict[Name, Count]


class Cleaning(Strict):
    """Which training pairs are kept, by their lengths in subwords; dev and test sets are never cleaned."""

    max_length: Count = 250
    max_ratio: Annotated[float, Field(ge=1)] | None = None


class Corpus(Strict):
    """Parallel text in named splits; `train` and `dev` must be among them, all others are test sets."""

    title: str
    source: Annotated[str, Field(pattern="^[a-z]{2,3}$")]
    target: Annotated[str, Field(pattern="^[a-z]{2,3}$")]
    licence: str
    archives: dict[Name, Archive] = {}
    splits: dict[Name, Annotated[list[Part], Field(min_length=1)]] = {}
    generated: Generated | None = None
    cleaning: Cleaning = Cleaning()

    @model_validator(mode="after")
    def check(self) -> "Corpus":
        if (self.generated is None) == (not self.splits):
            raise ValueError("give either splits or generated")
        for split in ("train", "dev"):
            if split not in self.split_names:
                raise ValueError(f"there is no split {split!r}")
        for parts in self.splits.values():
            for part in parts:
                for locator in (part.source, part.target):
                    archive = locator.partition(":")[0]
                    if archive not in self.archives:
                        raise ValueError(f"unknown archive {archive!r}: {nearest(archive, self.archives)}")
        return self

    @property
    def split_names(self) -> list[str]:
        return list(self.generated.sizes if self.generated else self.splits)

    @property
    def languages(self) -> dict[str, str]:
        return {"source": self.source, "target": self.target}


# ------------------------------------------------------------------------------------------ vocabularies


class Vocabulary(Strict):
    """From plain text to subword ids: what is done to the text, then sentencepiece over both sides together.

    normalise: Moses punctuation normalisation and removal of non-printing characters.
    tokenise: Moses tokenisation before subwords, undone after translation.
    lowercase: the text is lower-cased, and so are the translations.
    """

    size: Annotated[int, Field(ge=8, le=2**16)]
    kind: Literal["bpe"] = "bpe"
    normalise: bool = True
    tokenise: bool = False
    lowercase: bool = False


# ------------------------------------------------------------------------------------------- experiments


class Transformer(Strict):
    """AIAYN section 3. d_k and d_v are d_model / heads unless given (Table 3, rows A and B)."""

    family: Literal["transformer"] = "transformer"
    layers: Count
    d_model: Count
    d_ff: Count
    heads: Count
    d_k: Count | None = None
    d_v: Count | None = None
    dropout: Share
    positions: Literal["sinusoidal", "learned"] = "sinusoidal"
    max_positions: Count = 1024

    @model_validator(mode="after")
    def check(self) -> "Transformer":
        if self.d_model % self.heads and not (self.d_k and self.d_v):
            raise ValueError(f"heads {self.heads} does not divide d_model {self.d_model}: give d_k and d_v")
        if self.d_model % 2 and self.positions == "sinusoidal":
            raise ValueError(f"d_model {self.d_model} is odd: sinusoids come in pairs")
        return self

    @property
    def key_width(self) -> int:
        return self.d_k or self.d_model // self.heads

    @property
    def value_width(self) -> int:
        return self.d_v or self.d_model // self.heads


class RNNSearch(Strict):
    """Bahdanau et al. 2015: bidirectional GRU encoder, GRU decoder with additive attention."""

    family: Literal["rnnsearch"] = "rnnsearch"
    d_embedding: Count
    d_hidden: Count
    dropout: Share


class Seq2Seq(Strict):
    """Sutskever et al. 2014: stacked LSTMs, source reversed, no attention."""

    family: Literal["seq2seq"] = "seq2seq"
    layers: Count
    d_embedding: Count
    d_hidden: Count
    dropout: Share


Model = Transformer | RNNSearch | Seq2Seq
FAMILIES: dict[str, type[Strict]] = {
    cls.model_fields["family"].default: cls for cls in (Transformer, RNNSearch, Seq2Seq)
}


class Training(Strict):
    """How a row is trained; lengths and batches are counted in subwords.

    batch_tokens: at most this many source and this many target tokens an update, padding included.
    warmup, peak_learning_rate: linear to the peak in `warmup` updates, then with the inverse square root of the
      update; without a peak the paper's: (d_model * warmup)^-0.5 (AIAYN equation 3).
    interval: updates between checkpoints, each with the loss on the dev set.
    bleu_interval: updates between BLEU on the dev set by greedy search, 0 for never.
    patience: stop after this many intervals without a lower dev loss.
    average: the last so many checkpoints make the model (AIAYN section 6.1).
    """

    updates: Count
    batch_tokens: Count
    warmup: Count
    peak_learning_rate: Positive | None = None
    adam_betas: tuple[Share, Share] = (0.9, 0.98)
    adam_epsilon: Positive = 1e-9
    label_smoothing: Share = 0.1
    gradient_clip: Positive | None = None
    precision: Literal["float32", "bfloat16"] = "float32"
    interval: Count
    bleu_interval: Annotated[int, Field(ge=0)] = 0
    patience: Count | None = None
    average: Count = 5


class Decoding(Strict):
    """Beam search: length penalty ((5 + |Y|) / 6)^alpha (Wu et al. 2016), output at most source + max_extra."""

    beam: Count = 4
    alpha: Annotated[float, Field(ge=0)] = 0.6
    max_extra: Count = 50


class Experiment(Strict):
    """What a paper's table row is."""

    title: str
    vocabulary: Name
    model: Model = Field(discriminator="family")
    training: Training
    decoding: Decoding

    @model_validator(mode="after")
    def check(self) -> "Experiment":
        if self.training.peak_learning_rate is None and not isinstance(self.model, Transformer):
            raise ValueError("peak_learning_rate is missing: only a Transformer has the d_model of the paper's rate")
        return self


# -------------------------------------------------------------------------------------------- published


METRICS = {
    "bleu": "BLEU (sacreBLEU)",
    "chrf": "chrF",
    "ter": "TER",
    "tokenized_bleu": "BLEU (tokenized)",
    "compound_split_bleu": "BLEU (tokenized, compounds split)",
    "lowercased_tokenized_bleu": "BLEU (lower-cased, tokenized)",
    "perplexity": "perplexity",
}
COSTS = {"flops": "training FLOPs", "parameters": "parameters (millions)"}


class Published(Strict):
    """A number as printed in a paper, for a row of ours (`experiment`) or a system we only cite (`system`).

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
            raise ValueError(f"unknown metric {self.metric!r}: {nearest(self.metric, METRICS | COSTS)}")
        if (self.split is None) != (self.metric in COSTS):
            raise ValueError(f"{self.metric} {'belongs to no' if self.metric in COSTS else 'needs a'} split")
        return self


# ---------------------------------------------------------------------------------------- reproductions


class Table(Strict):
    """Rows and what is printed of them; `metrics` are columns, of the split named."""

    title: str
    experiments: Annotated[list[Name], Field(min_length=1)]
    split: Name
    metrics: Annotated[list[str], Field(min_length=1)]

    @model_validator(mode="after")
    def check(self) -> "Table":
        for metric in self.metrics:
            if metric not in METRICS:
                raise ValueError(f"unknown metric {metric!r}: {nearest(metric, METRICS)}")
            if metric == "perplexity" and self.split != "dev":
                raise ValueError("perplexity is measured on the split dev alone")
        return self


class Reproduction(Strict):
    """What one command makes: runs of rows on a corpus, with tables and figures made of them.

    catalogue: the folder of corpora.yaml, experiments.yaml and published.yaml.
    attention: a source sentence whose attention maps are drawn.
    mirror: a folder looked in before any address; the environment variable NMT_MIRROR says the same.
    """

    name: Name
    title: str
    corpus: Name
    seeds: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    tables: Annotated[dict[Name, Table], Field(min_length=1)]
    attention: str
    catalogue: str = "config"
    mirror: str | None = None

    @property
    def experiments(self) -> list[str]:
        """Every row of every table, once."""
        return list(dict.fromkeys(name for table in self.tables.values() for name in table.experiments))


class Catalogue(Strict):
    corpora: dict[Name, Corpus]
    vocabularies: dict[Name, Vocabulary]
    experiments: dict[Name, Experiment]
    published: list[Published]

    def corpus(self, name: str) -> Corpus:
        return lookup(self.corpora, name, "corpus")

    def vocabulary(self, name: str) -> Vocabulary:
        return lookup(self.vocabularies, name, "vocabulary")

    def experiment(self, name: str) -> Experiment:
        return lookup(self.experiments, name, "experiment")


def lookup(entries: dict, name: str, what: str):
    if name not in entries:
        raise UserError(f"unknown {what} {name!r}: {nearest(name, entries)}")
    return entries[name]


# ----------------------------------------------------------------------------------------------- reading


def load_catalogue(folder: str | Path) -> Catalogue:
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
    for key in declared:
        if key not in ("vocabularies", "experiments"):
            raise UserError(f"{experiments_file}: unknown key {key!r}: {nearest(key, ['vocabularies', 'experiments'])}")
    vocabularies = {
        name: validated(Vocabulary, values, f"{experiments_file}, vocabulary {name}")
        for name, values in (declared.get("vocabularies") or {}).items()
    }
    entries = declared.get("experiments") or {}
    experiments = {
        name: experiment
        for name in entries
        if (experiment := resolved_experiment(name, entries, vocabularies, str(experiments_file))) is not None
    }
    published = [
        validated(Published, values, f"{published_file}, entry {number}")
        for number, values in enumerate(read_yaml(published_file, list), start=1)
    ]
    for number, entry in enumerate(published, start=1):
        known = [("corpus", entry.corpus, corpora), ("experiment", entry.experiment, experiments)]
        for key, name, names in known:
            if name is not None and name not in names:
                raise UserError(f"{published_file}, entry {number}: unknown {key} {name!r}: {nearest(name, names)}")
    return Catalogue(corpora=corpora, vocabularies=vocabularies, experiments=experiments, published=published)


def check_archives(corpora: dict[str, Corpus], file: str) -> None:
    """Downloads are shared by name, so one name must not mean two files."""
    seen: dict[str, tuple[str, Archive]] = {}
    for corpus_name, corpus in corpora.items():
        for name, archive in corpus.archives.items():
            other, known = seen.setdefault(name, (corpus_name, archive))
            if known != archive:
                raise UserError(f"{file}: the archive {name} is not the same in {other} and {corpus_name}: rename one.")


def load_reproduction(values: dict, where: str = "the configuration") -> tuple[Reproduction, Catalogue]:
    """The reproduction that `values` (a parsed config/*.yaml) describe, checked against its catalogue."""
    reproduction = validated(Reproduction, values, where)
    catalogue = load_catalogue(reproduction.catalogue)
    corpus = catalogue.corpus(reproduction.corpus)
    for name, table in reproduction.tables.items():
        for experiment in table.experiments:
            if experiment not in catalogue.experiments:
                raise UserError(
                    f"{where}, table {name}: unknown experiment {experiment!r}: "
                    f"{nearest(experiment, catalogue.experiments)}"
                )
        if table.split not in corpus.split_names or table.split == "train":
            raise UserError(f"{where}, table {name}: unknown split {table.split!r}: known are {corpus.split_names}")
    return reproduction, catalogue


def resolved_experiment(name: str, entries: dict, vocabularies: dict, file: str) -> Experiment | None:
    """Follows `base` to the full entry, then sorts its flat keys into model, training and decoding.

    None for an entry without a family: it is only a base.
    """
    where = f"{file}, entry {name}"
    flat = {key: value for key, value in with_base(name, entries, file, ()).items() if key != "base"}
    family = flat.get("family")
    if family is None:
        return None
    if family not in FAMILIES:
        raise UserError(f"{where}: unknown family {family!r}: {nearest(str(family), FAMILIES)}")
    groups = {"model": FAMILIES[family], "training": Training, "decoding": Decoding}
    values: dict = {group: {} for group in groups}
    for key, value in flat.items():
        group = next((group for group, cls in groups.items() if key in cls.model_fields), None)
        if group is not None:
            values[group][key] = value
        elif key in ("title", "vocabulary"):
            values[key] = value
        else:
            known = {"base", "title", "vocabulary"}.union(*(cls.model_fields for cls in groups.values()))
            raise UserError(f"{where}: unknown key {key!r}: {nearest(key, known)}")
    experiment = validated(Experiment, values, where)
    if experiment.vocabulary not in vocabularies:
        raise UserError(
            f"{where}: unknown vocabulary {experiment.vocabulary!r}: {nearest(experiment.vocabulary, vocabularies)}"
        )
    return experiment


def with_base(name: str, entries: dict, file: str, seen: tuple[str, ...]) -> dict:
    if name in seen:
        raise UserError(f"{file}: entry {name} is its own base: {' -> '.join([*seen, name])}")
    entry = entries[name]
    if not isinstance(entry, dict):
        raise UserError(f"{file}, entry {name}: expected keys and values.")
    base = entry.get("base")
    if base is None:
        return entry
    if base not in entries:
        raise UserError(f"{file}, entry {name}: unknown base {base!r}: {nearest(str(base), entries)}")
    return {**with_base(base, entries, file, (*seen, name)), "title": name, **entry}


def validated(cls: type[Strict], values: object, where: str):
    """An instance of `cls`, or UserError with the first fault in one sentence."""
    try:
        return cls.model_validate(values)
    except ValidationError as error:
        faults = error.errors()
        # A misspelt key is also a missing one: what is there says more than what is not.
        first = next((fault for fault in faults if fault["type"] == "extra_forbidden"), faults[0])
        *path, last = [str(part) for part in first["loc"]] or [""]
        inside = f", {'.'.join(path)}" if path else ""
        if first["type"] == "extra_forbidden":
            fault = f"unknown key {last!r}: {nearest(last, known_keys(cls, path))}"
        elif first["type"] == "missing":
            fault = f"the key {last!r} is missing"
        else:
            message = first["msg"].removeprefix("Value error, ")
            fault = f"{last}: {message}" if last else message
        raise UserError(f"{where}{inside}: {fault}") from None


def known_keys(cls: type[Strict], path: list[str]) -> list[str]:
    """The keys known at `path` inside `cls`: found by walking its JSON schema."""
    schema = cls.model_json_schema()
    node = schema
    for part in path:
        node = next(
            (
                found
                for option in [node, *node.get("anyOf", []), *node.get("oneOf", [])]
                if (found := step_into(follow(option, schema), part)) is not None
            ),
            {},
        )
    options = [follow(option, schema) for option in [node, *node.get("anyOf", []), *node.get("oneOf", [])]]
    return [key for option in options for key in option.get("properties", {})]


def step_into(node: dict, part: str) -> dict | None:
    if part in node.get("properties", {}):
        return node["properties"][part]
    for key in ("additionalProperties", "items"):
        if isinstance(node.get(key), dict):
            return node[key]
    return next(iter(node.get("patternProperties", {}).values()), None)


def follow(node: dict, schema: dict) -> dict:
    return schema["$defs"][node["$ref"].rsplit("/", 1)[-1]] if "$ref" in node else node


def read_yaml(path: Path, kind: type):
    """Raises UserError when the file is missing, is not YAML, or holds something else than `kind`."""
    try:
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=UniqueKeys)
    except FileNotFoundError:
        raise UserError(f"{path} is not there.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid YAML: {' '.join(str(error).split())}") from None
    values = kind() if values is None else values
    if not isinstance(values, kind):
        raise UserError(f"{path}: expected {'keys and values' if kind is dict else 'a list'}.")
    return values


class UniqueKeys(yaml.SafeLoader):
    """YAML lets a later key silently replace an earlier one; two rows of one name must not pass."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} is there twice", node.start_mark)
        return super().construct_mapping(node, deep)
