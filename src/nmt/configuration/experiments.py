"""What a vocabulary and a row are: experiments.yaml."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt.configuration.strict import Count, Name, Positive, Share, Strict, validated
from nmt.errors import UserError, nearest


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
