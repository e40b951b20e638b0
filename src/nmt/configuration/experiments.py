"""What a vocabulary and an experiment are: the entries of experiments/*.yaml."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt.configuration.models import DecoderOnly, Model, SelfAttention
from nmt.configuration.strict import (
    Count,
    Depth,
    Fraction,
    Length,
    Name,
    NotNegative,
    Positive,
    RowName,
    Seed,
    Strict,
    Text,
    Whole,
)

Size = Annotated[int, Field(ge=8, strict=True)]
BYTES = 256
# Far above any that is of use, and far below what a float can hold of a long sentence's penalty
MOST_ALPHA = 10


class Vocabulary(Strict):
    """How plain text becomes subword ids: preprocessing and learned subwords."""

    size: Size
    """Number of subwords: of the joint vocabulary or, with source_size, of the target
    vocabulary."""
    source_size: Size | None = None
    """Number of subwords of a separate source vocabulary."""
    kind: Literal[
        "bpe",
        "unigram",
        "char",
        "word",
        "byte-bpe",
        "bytes",
        "greedy-bpe",
        "wordpiece",
        "wordpiece-ratio",
    ] = "bpe"
    """Kind of subwords: bpe (Sennrich et al. 2016), unigram (Kudo 2018), char or word, by
    sentencepiece; byte-bpe, BPE that starts from bytes (Radford et al. 2019); bytes alone (Xue et
    al. 2022). Those that cut a word into the longest pieces from its start: greedy-bpe, learned by
    frequency as bpe is; wordpiece (Schuster and Nakajima 2012), by the gain in the text's
    likelihood; wordpiece-ratio, by f(ab) / (f(a) f(b)), which joins what is rare."""
    byte_fallback: bool = False
    """Whether characters outside the vocabulary are spelled in bytes, so that nothing is unknown
    (bpe and unigram)."""
    normalize: bool = True
    """Whether Moses normalizes punctuation and removes non-printing characters."""
    tokenize: bool = False
    """Whether Moses tokenizes the text before subwords are made; undone after translation."""
    lowercase: bool = False
    """Whether the text is lower-cased, and thereby the translations."""
    max_length: Length | None = None
    """Largest number of subwords per side of training pairs; the corpus's limit if not given."""

    @model_validator(mode="after")
    def check(self) -> "Vocabulary":
        """Refuse byte_fallback where there is none, and sizes without room for bytes."""
        if self.byte_fallback and self.kind not in ("bpe", "unigram"):
            raise ValueError(f"byte_fallback is for bpe and unigram, the kind is {self.kind}")
        if self.kind == "bytes" and {self.size, self.source_size or self.size} != {BYTES + 4}:
            raise ValueError(f"bytes and symbols are {BYTES + 4}: give this as size")
        if self.byte_fallback and min(self.size, self.source_size or self.size) <= BYTES:
            raise ValueError(
                f"byte_fallback takes {BYTES} subwords for bytes alone: give a size well above"
            )
        return self

    @property
    def preprocessing_name(self) -> str:
        """The name of the folder of text that has gone through these steps."""
        return "-".join(self.preprocessing) or "spacing"

    @property
    def preprocessing(self) -> tuple[str, ...]:
        """The steps that text goes through before subword segmentation, in their order."""
        steps = ("lowercase", "normalize", "tokenize")
        return tuple(step for step in steps if getattr(self, step))


class Training(Strict):
    """How an experiment is trained; lengths and batches are counted in subwords."""

    updates: Count
    """Number of updates (optimizer steps)."""
    batch_tokens: Count | None = None
    """Largest number of source tokens, and of target tokens, of one update, padding included. It is
    the total over all micro-batches and processes, unlike fairseq's `--max-tokens`, which is per
    GPU."""
    batch_sentences: Count | None = None
    """Number of sentence pairs of one update, instead of batch_tokens: chosen at random, whatever
    their lengths."""
    micro_batches: Count = 1
    """Number of micro-batches of an update, each with sentences of similar lengths; fairseq's
    `--update-freq` times its number of GPUs. With batch_tokens, an update of a single one trains
    worse: it has only one length."""
    warmup: Whole
    """Number of updates in which the learning rate grows linearly to its peak."""
    peak_learning_rate: Positive | None = None
    """Learning rate at the end of the warm-up; the paper's if not given: (d_model * warmup)^-0.5
    (AIAYN equation 3)."""
    schedule: Literal["inverse_sqrt", "cosine", "halving", "constant"] = "inverse_sqrt"
    """Learning rate after the warm-up: inverse_sqrt, with the inverse square root of the update;
    cosine, along half a cosine to final_learning_rate at the last update; halving, halved every
    `halve_every` updates from `halve_from` on; or constant."""
    final_learning_rate: NotNegative | None = None
    """Learning rate at the last update (cosine)."""
    cosine_updates: Count | None = None
    """Update at which the cosine ends, where training ends before; `updates` if not given."""
    halve_from: Count | None = None
    """Update of the first halving (halving)."""
    halve_every: Count | None = None
    """Number of updates between halvings (halving)."""
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    """Optimizer: adam, adamw (weight decay decoupled from the gradient) or sgd."""
    weight_decay: NotNegative = 0.0
    """Weight decay (adamw)."""
    adam_betas: tuple[Fraction, Fraction] = (0.9, 0.98)
    """Decay rates of Adam's moments (AIAYN section 5.3)."""
    adam_epsilon: Positive = 1e-9
    """Constant added to Adam's denominator."""
    label_smoothing: Fraction = 0.1
    """Label smoothing eps_ls (AIAYN section 5.4)."""
    gradient_clip: Positive | None = None
    """Largest norm of the gradient, to which it is clipped; null does not clip."""
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    """Precision: float32; or bfloat16 or float16 (with the loss scaled) in matrix products,
    attention and the output's probabilities, with weights in float32. LSTMs and GRUs that run over
    all positions at once stay in float32."""
    interval: Count
    """Number of updates between checkpoints; the loss on the dev set is measured at each."""
    bleu_interval: Whole = 0
    """Number of updates between measurements of BLEU on the dev set by greedy search; 0: never."""
    patience: Count | None = None
    """Number of intervals without a lower dev loss after which training stops; null never stops
    early."""
    average: Count = 5
    """Number of last checkpoints whose weights are averaged to the model (AIAYN section 6.1)."""
    checkpoint: Literal["average", "best"] = "average"
    """Checkpoint that becomes the model: average (of the last `average` ones), or best (the one
    with the lowest loss on the dev set)."""
    source_loss: tuple[tuple[Whole, NotNegative], ...] = ()
    """Weight of the loss on source tokens, relative to that on target tokens, by update: [[0, 1.0],
    [9000, 0.0]] falls linearly and stays constant after the last point (Wang et al. 2021, lambda
    L_AE + L_MT). It is without label smoothing."""

    @model_validator(mode="after")
    def check(self) -> "Training":
        """Refuse settings that do not go together."""
        if (self.batch_tokens is None) == (self.batch_sentences is None):
            raise ValueError("give either batch_tokens or batch_sentences, the other one as null")
        if self.schedule == "inverse_sqrt" and not self.warmup:
            raise ValueError("the schedule inverse_sqrt needs a warmup of at least 1")
        needed = {"cosine": ["final_learning_rate"], "halving": ["halve_from", "halve_every"]}
        for key in ("final_learning_rate", "halve_from", "halve_every"):
            needs = key in needed.get(self.schedule, [])
            if (getattr(self, key) is not None) != needs:
                has = "needs" if needs else "has no"
                raise ValueError(f"the schedule {self.schedule} {has} {key}")
        if self.cosine_updates and (
            self.schedule != "cosine" or self.cosine_updates < self.updates
        ):
            raise ValueError(
                f"cosine_updates is for a cosine that ends after {self.updates} updates"
            )
        if self.warmup > self.updates:
            raise ValueError(f"warmup {self.warmup} is longer than the {self.updates} updates")
        if self.halve_from and not self.warmup < self.halve_from < self.updates:
            raise ValueError(
                f"halve_from {self.halve_from} is not between the warmup, {self.warmup}, and the"
                f" last of {self.updates} updates"
            )
        if self.bleu_interval % self.interval:
            raise ValueError(
                f"bleu_interval {self.bleu_interval} is no multiple of interval {self.interval}"
            )
        if self.weight_decay and self.optimizer != "adamw":
            raise ValueError(f"weight_decay is adamw's, the optimizer is {self.optimizer}")
        updates = [update for update, _ in self.source_loss]
        if updates != sorted(set(updates)):
            raise ValueError("source_loss: its updates must grow")
        return self


# Keys that matter after training: experiments that differ in these alone can share one.
CHECKPOINT_KEYS = {"average", "checkpoint"}


class Decoding(Strict):
    """Beam search for an output of at most source + max_extra tokens."""

    beam: Depth = 4
    """Beam width: number of open hypotheses per sentence."""
    penalty: Literal["wu", "power"] = "wu"
    """Length penalty, which divides the log probability: wu, ((5 + |Y|) / 6)^alpha (Wu et al.
    2016); or power, |Y|^alpha."""
    alpha: Annotated[float, Field(ge=0, le=MOST_ALPHA, strict=True)] = 0.6
    """Exponent of the length penalty; 0 for none."""
    max_extra: Length = 50
    """Largest number of tokens that a translation may have more than its source (AIAYN section
    6.1)."""


class Experiment(Strict):
    """An experiment: a model, how it is trained and how it translates."""

    title: Text
    """Title in tables and figures."""
    trained_as: RowName | None = None
    """Experiment whose training is shared: the two may differ only in `average`, `checkpoint` and
    search. Not inherited by entries that have this one as their base."""
    vocabulary: RowName
    """Vocabulary, an entry of `vocabularies`; "raw-bpe-8000+size-4000" is one of another size."""
    initialize_from: Text | None = None
    """Folder of a model whose weights training starts from, and whose subwords are used instead of
    learned ones; its architecture and its vocabulary's settings must be those here."""
    model: Model = Field(discriminator="family")
    training: Training
    decoding: Decoding

    @property
    def values(self) -> dict:
        """All settings by key, as an entry gives them."""
        parts = (self.model, self.training, self.decoding)
        return {key: value for part in parts for key, value in part.model_dump().items()}

    @property
    def peak_learning_rate(self) -> float:
        """The rate at the end of the warm-up: the experiment's own, or that of AIAYN equation 3."""
        if self.training.peak_learning_rate:
            return self.training.peak_learning_rate
        if not isinstance(self.model, SelfAttention) or not self.training.warmup:
            raise ValueError(
                "peak_learning_rate is missing: the paper's needs a d_model and a warmup"
            )
        return (self.model.d_model * self.training.warmup) ** -0.5

    @model_validator(mode="after")
    def check(self) -> "Experiment":
        """Refuse a training that the model cannot have."""
        training = self.training
        if (training.final_learning_rate or 0) > self.peak_learning_rate:
            raise ValueError(
                f"final_learning_rate {training.final_learning_rate} is above the peak,"
                f" {self.peak_learning_rate:.3g}"
            )
        learns_source = isinstance(self.model, DecoderOnly) and not self.model.prefix
        if training.source_loss and not learns_source:
            raise ValueError(
                "source_loss is for decoder-only models without prefix: no other predicts the"
                " source"
            )
        return self


class Ensemble(Strict):
    """Runs that translate together, by the mean of their probabilities (AIAYN Table 2)."""

    title: Text
    """Title in tables and figures."""
    members: dict[RowName, Annotated[tuple[Seed, ...], Field(min_length=1)]] = Field(default={})
    """Experiments and the seeds of each; the search settings are those of the first."""
    translations: dict[Name, Text] = Field(default={})
    """Instead of members, the files of another system's translations, by split."""

    @model_validator(mode="after")
    def check(self) -> "Ensemble":
        """Refuse fewer than two runs, and a run that is there twice."""
        runs = [(name, seed) for name, seeds in self.members.items() for seed in seeds]
        if bool(runs) == bool(self.translations):
            raise ValueError("give either members or translations")
        if runs and (len(runs) != len(set(runs)) or len(runs) < 2):
            raise ValueError("members: give at least two runs, none of them twice")
        return self
