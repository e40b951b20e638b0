"""What a vocabulary and a row are: experiments.yaml."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from nmt.configuration.models import DecoderOnly, Model, SelfAttention
from nmt.configuration.strict import (
    NUMBER,
    Count,
    Fraction,
    Name,
    NotNegative,
    Positive,
    RowName,
    Seed,
    Strict,
    Text,
    Whole,
)

Size = Annotated[int, Field(ge=8), NUMBER]
BYTES = 256
MOST_ALPHA = 10  # far above any that is of use, and far below what a float can hold of a long sentence's penalty


class Vocabulary(Strict):
    """From plain text to subword ids: what is done to the text, and the subwords that are learned
    from it.

    size: of the vocabulary of both sides together; with source_size, of the target's, the source
      having its own.
    kind: bpe (Sennrich et al. 2016), unigram (Kudo 2018), char or word, by sentencepiece; or
      wordpiece, by the library
      tokenizers: learned by frequency as bpe is, but a word is cut into the longest pieces from its
        start.
    byte_fallback: what the vocabulary cannot spell is spelled in bytes, so that nothing is unknown
      (bpe and unigram).
    normalize: Moses punctuation normalization and removal of non-printing characters.
    tokenize: Moses tokenization before subwords, undone after translation.
    lowercase: the text is lower-cased, and so are the translations.
    max_length: pairs with a longer side are left out of training, in subwords; without it the
      corpus's own.
    """

    size: Size
    source_size: Size | None = None
    kind: Literal["bpe", "unigram", "char", "word", "wordpiece"] = "bpe"
    byte_fallback: bool = False
    normalize: bool = True
    tokenize: bool = False
    lowercase: bool = False
    max_length: Count | None = None

    @model_validator(mode="after")
    def check(self) -> "Vocabulary":
        if self.byte_fallback and self.kind not in ("bpe", "unigram"):
            raise ValueError(f"byte_fallback is for bpe and unigram, the kind is {self.kind}")
        if self.byte_fallback and min(self.size, self.source_size or self.size) <= BYTES:
            raise ValueError(
                f"byte_fallback takes {BYTES} subwords for bytes alone: give a size well above"
            )
        return self


class Training(Strict):
    """How a row is trained; lengths and batches are counted in subwords.

    batch_tokens: at most this many source and this many target tokens an update, padding included.
    micro_batches: an update learns from so many micro-batches that share batch_tokens, each of sentences of
      nearly one length; where papers train on several GPUs, each has one. Of one length alone an
      update learns worse.
    warmup, peak_learning_rate: linear to the peak in `warmup` updates; without a peak the paper's,
      (d_model * warmup)^-0.5 (AIAYN equation 3).
    schedule: after the warm-up inverse_sqrt, with the inverse square root of the update; cosine,
      along half a cosine to final_learning_rate at the last update; halving, halved every
      `halve_every` updates from `halve_from` on; or constant.
    optimizer: adam, adamw (weight_decay apart from the gradient) or sgd.
    source_loss: weight of the loss of the source's tokens beside the target's, by update: [[0,
      1.0], [9000, 0.0]] falls linearly, and stays what it is after the last point (Wang et al.
      2021, lambda L_AE + L_MT).
    interval: updates between checkpoints, each with the loss on the dev set.
    bleu_interval: updates between BLEU on the dev set by greedy search, 0 for never.
    patience: stop after this many intervals without a lower dev loss.
    average: the mean of the last so many checkpoints is the model (AIAYN section 6.1).
    checkpoint: average, or best, the one checkpoint with the lowest loss on the dev set.
    precision: float32, or products in bfloat16 or float16 (with the loss scaled) and weights in
      float32.
    deterministic: on a GPU, too, only algorithms that give the same bits every time (a CPU's always
      do), so that a run that was interrupted ends as one that was not; slower, and torch refuses an
      operation that has none.
    most_skipped: an update whose gradient is no number is left out; after so many in a row training
      stops.
    """

    updates: Count
    batch_tokens: Count
    micro_batches: Count = 1
    warmup: Whole
    peak_learning_rate: Positive | None = None
    schedule: Literal["inverse_sqrt", "cosine", "halving", "constant"] = "inverse_sqrt"
    final_learning_rate: NotNegative | None = None
    halve_from: Count | None = None
    halve_every: Count | None = None
    optimizer: Literal["adam", "adamw", "sgd"] = "adam"
    weight_decay: NotNegative = 0.0
    adam_betas: tuple[Fraction, Fraction] = (0.9, 0.98)
    adam_epsilon: Positive = 1e-9
    label_smoothing: Fraction = 0.1
    gradient_clip: Positive | None = None
    precision: Literal["float32", "bfloat16", "float16"] = "float32"
    deterministic: bool = False
    most_skipped: Count = 10
    interval: Count
    bleu_interval: Whole = 0
    patience: Count | None = None
    average: Count = 5
    checkpoint: Literal["average", "best"] = "average"
    source_loss: tuple[tuple[Whole, NotNegative], ...] = ()

    @model_validator(mode="after")
    def check(self) -> "Training":
        if self.schedule == "inverse_sqrt" and not self.warmup:
            raise ValueError("the schedule inverse_sqrt needs a warmup of at least 1")
        needed = {"cosine": ["final_learning_rate"], "halving": ["halve_from", "halve_every"]}.get(
            self.schedule, []
        )
        for key in ("final_learning_rate", "halve_from", "halve_every"):
            if (getattr(self, key) is not None) != (key in needed):
                raise ValueError(
                    f"the schedule {self.schedule} {'needs' if key in needed else 'has no'} {key}"
                )
        if self.warmup > self.updates:
            raise ValueError(f"warmup {self.warmup} is longer than the {self.updates} updates")
        if self.halve_from and self.halve_from >= self.updates:
            raise ValueError(
                f"halve_from {self.halve_from} is not before the last of {self.updates} updates"
            )
        if self.peak_learning_rate and (self.final_learning_rate or 0) > self.peak_learning_rate:
            raise ValueError(f"final_learning_rate {self.final_learning_rate} is above the peak")
        if self.bleu_interval % self.interval:
            raise ValueError(
                f"bleu_interval {self.bleu_interval} is no multiple of interval {self.interval}"
            )
        if self.micro_batches > self.batch_tokens:
            raise ValueError(
                f"micro_batches {self.micro_batches}: there are only {self.batch_tokens} batch_tokens for them"
            )
        if self.weight_decay and self.optimizer != "adamw":
            raise ValueError(f"weight_decay is adamw's, the optimizer is {self.optimizer}")
        if [update for update, _ in self.source_loss] != sorted(
            {update for update, _ in self.source_loss}
        ):
            raise ValueError("source_loss: its updates must grow")
        return self


# What is made of a training afterwards: rows that differ in these alone can share one.
CHECKPOINT_KEYS = {"average", "checkpoint"}


class Decoding(Strict):
    """Beam search for an output of at most source + max_extra tokens.

    penalty: what divides a log probability: wu, ((5 + |Y|) / 6)^alpha (Wu et al. 2016); power,
      |Y|^alpha; or none.
    stop: exact, when nothing open can still win; or beam, when as many hypotheses as the beam are
      finished.
    """

    beam: Count = 4
    penalty: Literal["wu", "power", "none"] = "wu"
    alpha: Annotated[float, Field(ge=0, le=MOST_ALPHA), NUMBER] = 0.6
    max_extra: Count = 50
    stop: Literal["exact", "beam"] = "exact"


class Experiment(Strict):
    """What a paper's table row is.

    trained_as: another row, whose training serves this one as well: it differs at most in
      `average`, `checkpoint` and search.
      Not passed on to entries that have this one as their base.
    """

    title: Text
    trained_as: RowName | None = None
    vocabulary: Name
    model: Model = Field(discriminator="family")
    training: Training
    decoding: Decoding

    @property
    def peak_learning_rate(self) -> float:
        """The rate at the end of the warm-up: the row's own, or the paper's (AIAYN equation 3).

        The paper's is d_model^-0.5 * min(update^-0.5, update * warmup^-1.5).
        """
        if self.training.peak_learning_rate is not None:
            return self.training.peak_learning_rate
        return (self.model.d_model * self.training.warmup) ** -0.5

    @model_validator(mode="after")
    def check(self) -> "Experiment":
        if self.training.peak_learning_rate is None and not isinstance(self.model, SelfAttention):
            raise ValueError(
                "peak_learning_rate is missing: only a Transformer has the d_model of the paper's"
                " rate"
            )
        if self.training.peak_learning_rate is None and not self.training.warmup:
            raise ValueError(
                "peak_learning_rate is missing: without a warmup the paper's is not defined"
            )
        learns_source = isinstance(self.model, DecoderOnly) and not self.model.prefix
        if self.training.source_loss and not learns_source:
            raise ValueError(
                "source_loss is for decoder-only models without prefix: no other predicts the"
                " source"
            )
        return self


class Ensemble(Strict):
    """Runs that translate together: each step's probabilities are the mean of theirs (AIAYN Table
    2's ensembles).

    members: the seeds of each experiment. Search is that of the first.
    """

    title: Text
    members: Annotated[
        dict[RowName, Annotated[tuple[Seed, ...], Field(min_length=1)]], Field(min_length=1)
    ]

    @model_validator(mode="after")
    def check(self) -> "Ensemble":
        runs = [(name, seed) for name, seeds in self.members.items() for seed in seeds]
        if len(runs) != len(set(runs)) or len(runs) < 2:
            raise ValueError("members: give at least two runs, none of them twice")
        return self
