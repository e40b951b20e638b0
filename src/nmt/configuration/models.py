"""What a model is: a class for each family, whose keys are the paper's hyperparameters."""

from typing import Annotated, Literal, Union

from pydantic import Field, model_validator

from nmt.configuration.strict import NUMBER, Count, Fraction, Positive, Several, Strict


class Architecture(Strict):
    """A family's hyperparameters."""

    @property
    def reach(self) -> int | None:
        """How many subwords of a side there are positions for, beside tags and EOS; None: there is
        no limit.
        """
        return None


class SelfAttention(Architecture):
    """What Transformers have in common, with one stack or two. d_k and d_v are d_model / heads
    unless given.

    positions: sinusoidal (AIAYN section 3.5), learned (Table 3, row E; at most max_positions
      tokens, which start normal with the deviation positions_std, d_model^-0.5 if not given), none,
      or inside self-attention: relative (Shaw et al. 2018, told apart up to max_distance), rotary
      (Su et al. 2021) or alibi (Press et al. 2022).
    norm: post, LayerNorm(x + f(x)) as in AIAYN, or pre, x + f(LayerNorm(x)) with a last norm (Xiong
      et al. 2020).
    """

    layers: Count
    d_model: Count
    d_ff: Count
    heads: Count
    d_k: Count | None = None
    d_v: Count | None = None
    dropout: Fraction
    positions: Literal["sinusoidal", "learned", "none", "relative", "rotary", "alibi"] = (
        "sinusoidal"
    )
    max_positions: Count = 1024
    positions_std: Positive | None = None
    max_distance: Count = 16
    norm: Literal["post", "pre"] = "post"
    activation: Literal["relu", "gelu"] = "relu"

    @model_validator(mode="after")
    def check(self):
        if self.d_model % self.heads and not (self.d_k and self.d_v):
            raise ValueError(
                f"heads {self.heads} does not divide d_model {self.d_model}: give d_k and d_v"
            )
        if self.d_model % 2 and self.positions == "sinusoidal":
            raise ValueError(f"d_model {self.d_model} is odd: sinusoids come in pairs")
        if self.key_width % 2 and self.positions == "rotary":
            raise ValueError(f"d_k {self.key_width} is odd: rotary positions turn pairs")
        return self

    @property
    def reach(self) -> int | None:
        return self.max_positions - 2 if self.positions == "learned" else None

    @property
    def key_width(self) -> int:
        return self.d_k or self.d_model // self.heads

    @property
    def value_width(self) -> int:
        return self.d_v or self.d_model // self.heads


class Transformer(SelfAttention):
    """AIAYN section 3.

    tie: all, one table for source, target and output (AIAYN section 3.4); decoder, one for target
      and output (Press and Wolf 2017); or none.
    """

    family: Literal["transformer"] = "transformer"
    tie: Literal["all", "decoder", "none"] = "all"


class DecoderOnly(SelfAttention):
    """Wang et al. 2021: source and target in one sequence, each behind a tag.

    prefix: the source sees all of itself; without, it is read causally, and may be learned too
      (Training.source_loss).
    tie: all, one table for tokens and output, or none.
    """

    family: Literal["decoder-only"] = "decoder-only"
    prefix: bool = False
    tie: Literal["all", "none"] = "all"

    @property
    def reach(self) -> int | None:
        return self.max_positions // 2 - 2 if self.positions == "learned" else None


class Seq2Seq(Architecture):
    """Stacked LSTMs: Sutskever et al. 2014, and with attention Luong et al. 2015.

    attention: none, global (Luong, section 3.1), or local-p (section 3.2), which looks at most
      `window` words away from a place that it predicts.
    score: how states are compared: dot, general or concat (Luong, equation 8).
    input_feeding: what attention made of a step is part of the next step's input (Luong, section
      3.3).
    reverse_source: it is read from its end (Sutskever, section 3.3).
    init_range: parameters start uniform in -init_range .. init_range (Sutskever, section 3.4).
    init: uniform, as printed, or orthogonal, where the LSTMs start otherwise: recurrent matrices
      orthogonal (Saxe et al. 2014), input matrices by Glorot and Bengio 2010, forget gates open
      (Jozefowicz et al. 2015), which narrow layers need: a range that suits widths of 1,000 leaves
      them with too little, a wider one makes them chaotic.
    """

    family: Literal["seq2seq"] = "seq2seq"
    layers: Count
    d_embedding: Count
    d_hidden: Count
    dropout: Fraction
    attention: Literal["none", "global", "local-p"] = "none"
    score: Literal["dot", "general", "concat"] | None = None
    window: Count | None = None
    input_feeding: bool = False
    reverse_source: bool = True
    init_range: Positive = 0.08
    init: Literal["uniform", "orthogonal"] = "uniform"

    @model_validator(mode="after")
    def check(self):
        attends = self.attention != "none"
        if attends != (self.score is not None):
            raise ValueError(f"attention {self.attention} {'needs' if attends else 'has no'} score")
        if (self.attention == "local-p") != (self.window is not None):
            raise ValueError(
                f"attention {self.attention} {'has no' if self.window else 'needs a'} window"
            )
        if self.input_feeding and not attends:
            raise ValueError("input_feeding feeds what attention makes: choose an attention")
        return self


class RNNSearch(Architecture):
    """GRU encoder and decoder (Bahdanau et al. 2015, appendix A).

    attention: additive, which is RNNsearch, or none, which is RNNencdec.
    init_std: matrices that are not recurrent start normal with this deviation, those of the
      alignment with a tenth of it (appendix B.1); null leaves them to torch.
    """

    family: Literal["rnnsearch"] = "rnnsearch"
    d_embedding: Count
    d_hidden: Several
    dropout: Fraction
    attention: Literal["additive", "none"] = "additive"
    init_std: Positive | None = 0.01


class GNMT(Architecture):
    """Wu et al. 2016: residual LSTMs, the first encoder layer bidirectional, attention from the
    bottom decoder layer.

    context: what attention is asked with, and so which context the upper decoder layers get:
      previous, the bottom layer's output of the step before, as printed, or current, that of the
      same step, as in Google's later gnmt_v2 (github.com/tensorflow/nmt). The bottom layer's own
      input has the context of the step before either way.
    d_model: width of embeddings and of what layers pass on. d_cell: cells of a layer, projected to
      d_model; without it d_model cells, and no projection.
    layers: of the encoder, whose first reads both ways, and as many of the decoder.
    experts, experts_used, d_expert, balance: with experts, MoE (Shazeer et al. 2017, appendix E):
      how many there are, how many each token goes to, the inner width of one, the weight of the
      balance losses (0.01 if not given).
    """

    family: Literal["gnmt"] = "gnmt"
    layers: Several
    d_model: Count
    d_cell: Count | None = None
    dropout: Fraction
    context: Literal["previous", "current"] = "previous"
    init_range: Positive = 0.04
    experts: Count | None = None
    experts_used: Count | None = None
    d_expert: Count | None = None
    balance: Positive | None = None

    @model_validator(mode="after")
    def check(self):
        given = [value is not None for value in (self.experts, self.experts_used, self.d_expert)]
        if any(given) != all(given):
            raise ValueError(
                "experts, experts_used and d_expert belong together: give all three or none"
            )
        if self.experts and self.experts_used > self.experts:
            raise ValueError(
                f"experts_used {self.experts_used} is more than the {self.experts} experts"
                " there are"
            )
        if self.experts and self.context == "current":
            raise ValueError(
                "context: current is for the upper decoder layers, which with experts get none"
            )
        if self.balance and not self.experts:
            raise ValueError("balance is that of experts, and there are none")
        if self.d_cell == self.d_model:
            raise ValueError("d_cell is d_model: leave it out, there is nothing to project")
        if self.d_cell and self.d_cell < self.d_model:
            raise ValueError(
                f"d_cell {self.d_cell} is less than d_model {self.d_model}: cells are projected to"
                " fewer"
            )
        return self


Layers = Annotated[list[tuple[Count, Count, Count]], Field(min_length=1)]


class ConvS2S(Architecture):
    """Gehring et al. 2017. encoder, decoder: [channels, kernel, how many such layers] in their
    order.

    d_output: width before the output. max_positions: a sentence has at most so many tokens.
    """

    family: Literal["convs2s"] = "convs2s"
    encoder: Layers
    decoder: Layers
    d_embedding: Count
    d_output: Count
    dropout: Fraction
    max_positions: Count = 1024

    @property
    def reach(self) -> int:
        return self.max_positions - 2


class ByteNet(Architecture):
    """Kalchbrenner et al. 2016: `sets` times blocks of these dilations, in the encoder and in the
    decoder.

    d_hidden: width of the convolutions; sums between blocks are twice as wide. unfold: columns of
      the encoder for each source token.
    """

    family: Literal["bytenet"] = "bytenet"
    d_hidden: Count
    sets: Count = 6
    dilations: Annotated[tuple[Count, ...], Field(min_length=1)] = (1, 2, 4, 8, 16)
    kernel: Several = 3
    unfold: Annotated[float, Field(ge=1), NUMBER] = 1.2
    dropout: Fraction = 0.0


# Every class above that has a family: a new one needs no other line in this folder.
FAMILIES: dict[str, type[Strict]] = {
    cls.model_fields["family"].default: cls
    for cls in list(vars().values())
    if isinstance(cls, type) and issubclass(cls, Strict) and "family" in cls.model_fields
}
Model = Union[tuple(FAMILIES.values())]  # noqa: UP007 - it is made of what is found
