"""What a model is: a class for each family, whose keys are the paper's hyperparameters."""

from typing import Annotated, ClassVar, Literal, get_args

from pydantic import Field, model_validator

from nmt.configuration.strict import Depth, Fraction, Length, Positive, Several, Strict, Width

# The rows of a table of positions, where a model has one
LEARNED_POSITIONS = 1024


class Architecture(Strict):
    """What families have in common; a model's class has the same name, its module the family's.

    can_be_packed: whether sentences may share a row, because only attention connects tokens.
    """

    can_be_packed: ClassVar[bool] = False

    def chosen(self) -> dict:
        """Return the family, and what differs from its defaults."""
        return self.model_dump(include={"family"}) | super().chosen()

    @property
    def reach(self) -> int | None:
        """The subwords of a side with positions, beside tags and EOS; None: no limit."""
        return None


class SelfAttention(Architecture):
    """What Transformers have in common, with one stack or two."""

    can_be_packed = True
    layers: Depth
    """Number of layers N of the stack, or of each of the two stacks."""
    d_model: Width
    """Width of embeddings and of the outputs of layers."""
    d_ff: Width
    """Inner width of the feed-forward layers."""
    heads: Depth
    """Number of attention heads h of each layer."""
    d_k: Width | None = None
    """Width of a head's queries and keys; d_model / heads if not given."""
    dropout: Fraction
    """Dropout P_drop, after each sublayer and on embeddings plus positions (AIAYN section 5.4)."""
    positions: Literal[
        "sinusoidal",
        "sines-cosines",
        "learned",
        "none",
        "relative",
        "transformer-xl",
        "rotary",
        "alibi",
    ] = "sinusoidal"
    """Positions: sinusoidal (AIAYN section 3.5), sines-cosines (the same, all sines first) or
    learned (Table 3, row E), added to embeddings; relative (Shaw et al. 2018), transformer-xl (Dai
    et al. 2019), rotary (Su et al. 2021) or alibi (Press et al. 2022), inside self-attention; or
    none."""
    positions_std: Positive | None = None
    """Standard deviation of the initial learned positions; d_model^-0.5 if not given."""
    norm: Literal["post", "pre"] = "post"
    """Place of layer normalization: post, LayerNorm(x + f(x)), as in AIAYN; or pre,
    x + f(LayerNorm(x)), with a last norm (Xiong et al. 2020)."""
    final_norm: bool = False
    """Whether the decoder ends in a layer normalization although norm is post."""
    activation: Literal["relu", "gelu"] = "relu"
    """Activation between the two feed-forward layers."""
    attention_bias: bool = False
    """Whether the projections of attention have biases."""

    @model_validator(mode="after")
    def check(self):
        """Refuse widths that do not fit each other."""
        if self.d_model % self.heads:
            raise ValueError(f"heads {self.heads} does not divide d_model {self.d_model}")
        if self.d_model % 2 and self.positions in ("sinusoidal", "sines-cosines", "transformer-xl"):
            raise ValueError(f"d_model {self.d_model} is odd: sinusoids come in pairs")
        if self.key_width % 2 and self.positions == "rotary":
            raise ValueError(f"d_k {self.key_width} is odd: rotary positions turn pairs")
        if self.positions_std and self.positions != "learned":
            raise ValueError("positions_std is that of learned positions")
        return self

    @property
    def reach(self) -> int | None:
        """The subwords of a side that there are positions for, beside BOS or EOS."""
        return LEARNED_POSITIONS - 1 if self.positions == "learned" else None

    @property
    def key_width(self) -> int:
        """d_k, given or not."""
        return self.d_k or self.value_width

    @property
    def value_width(self) -> int:
        """d_v = d_model / heads (AIAYN section 3.2.2)."""
        return self.d_model // self.heads


class Transformer(SelfAttention):
    """The encoder-decoder of AIAYN section 3."""

    family: Literal["transformer"] = "transformer"
    neighborhood: Length | None = None
    """Largest distance of what self-attention sees, on either side (AIAYN section 4, restricted
    self-attention); all if not given."""
    tie: Literal["all", "decoder", "none"] = "all"
    """Tied embeddings: all, one matrix for source, target and output (AIAYN section 3.4); decoder,
    one for target and output (Press and Wolf 2017); or none."""


class DecoderOnly(SelfAttention):
    """A language model of source and target in one sequence (Wang et al. 2021)."""

    family: Literal["decoder-only"] = "decoder-only"
    prefix: bool = False
    """Whether every source token attends to the whole source; otherwise attention to the source is
    causal, and its tokens may be learned too (source_loss)."""

    @property
    def reach(self) -> int | None:
        """The subwords of a side that there are positions for, beside tags and EOS."""
        return (LEARNED_POSITIONS - 3) // 2 if self.positions == "learned" else None


class Seq2Seq(Architecture):
    """Stacked LSTMs: Sutskever et al. 2014, and with attention Luong et al. 2015."""

    family: Literal["seq2seq"] = "seq2seq"
    layers: Depth
    """Number of LSTM layers of the encoder, and of the decoder."""
    d_embedding: Width
    """Width of embeddings."""
    d_hidden: Width
    """Number of LSTM cells of each layer."""
    dropout: Fraction
    """Dropout on embeddings, between layers, on what attention reads and before the output."""
    attention: Literal["none", "global", "local-p"] = "none"
    """Attention: none, global (Luong, section 3.1), or local-p (section 3.2), which attends to
    words at most 10 away from a predicted position."""
    score: Literal["dot", "scaled-dot", "general", "concat", "location"] | None = None
    """Attention score of decoder and encoder states (Luong, equations 8 and 9); scaled-dot is dot
    divided by sqrt(d_hidden)."""
    input_feeding: bool = False
    """Whether the attentional state of a step is part of the next step's input (Luong, section
    3.3)."""
    reverse_source: bool = True
    """Whether the source is read from its end (Sutskever, section 3.3)."""
    init_range: Positive = 0.08
    """Range of the uniform initialization, -init_range .. init_range (Sutskever, section 3.4)."""
    init: Literal["uniform", "orthogonal"] = "uniform"
    """Initialization: uniform, as printed; or orthogonal, in which the LSTMs start with orthogonal
    recurrent matrices (Saxe et al. 2014), Glorot's input matrices (2010) and a forget-gate bias of
    1 (Jozefowicz et al. 2015)."""

    @model_validator(mode="after")
    def check(self):
        """Refuse keys of attention that do not go together."""
        attends = self.attention != "none"
        if attends != (self.score is not None):
            raise ValueError(f"attention {self.attention} {'needs' if attends else 'has no'} score")
        if self.input_feeding and not attends:
            raise ValueError("input_feeding feeds what attention makes: choose an attention")
        return self


class RNNSearch(Architecture):
    """A GRU encoder and decoder (Bahdanau et al. 2015, appendix A)."""

    family: Literal["rnnsearch"] = "rnnsearch"
    d_embedding: Width
    """Width of embeddings."""
    d_hidden: Several
    """Width of the recurrent states."""
    layers: Depth = 1
    """Number of layers of the encoder, and of the decoder."""
    dropout: Fraction
    """Dropout on embeddings, on the encoder's states and before the output."""
    attention: Literal["additive", "scaled-dot", "none"] = "additive"
    """Attention: additive (RNNsearch), scaled-dot (with projected keys and values), or none
    (RNNencdec)."""
    readout: Literal["maxout", "state"] = "maxout"
    """What the output layer sees: a maxout layer over previous state, word and context (appendix
    A.2.2), or the new top state alone. With state the encoder always reads both ways, and both of
    its last states begin the decoder's, without tanh."""
    init_std: Positive | None = 0.01
    """Standard deviation of the normal initialization of matrices that are not recurrent; those of
    the alignment model have a tenth of it (appendix B.1). null takes torch's, for embeddings
    d_embedding^-0.5."""


class GNMT(Architecture):
    """Residual LSTMs with attention from the bottom decoder layer (Wu et al. 2016).

    With experts it is MoE (Shazeer et al. 2017, appendix E).
    """

    family: Literal["gnmt"] = "gnmt"
    layers: Several
    """Number of layers of the encoder, the first of which is bidirectional, and of the decoder."""
    d_model: Width
    """Width of embeddings and of the outputs of layers."""
    d_cell: Width | None = None
    """Number of LSTM cells of a layer, projected to d_model; d_model cells without projection if
    not given."""
    dropout: Fraction
    """Dropout on the input of each layer, on the output of each stack and on that of experts."""
    context: Literal["previous", "current"] = "previous"
    """Step whose attention context the upper decoder layers get: previous (the query is the bottom
    layer's output of the previous step, as printed) or current (of the current step, as in Google's
    later gnmt_v2, github.com/tensorflow/nmt). The bottom layer itself gets that of the previous
    step either way."""
    init_range: Positive = 0.04
    """Range of the uniform initialization, -init_range .. init_range."""
    experts: Length | None = None
    """Number of experts of each mixture layer, which makes the model MoE."""
    experts_used: Length | None = None
    """Number of experts that each token is routed to."""
    d_expert: Width | None = None
    """Inner width of an expert."""

    @model_validator(mode="after")
    def check(self):
        """Refuse keys that do not go together."""
        given = [value is not None for value in (self.experts, self.experts_used, self.d_expert)]
        if any(given) != all(given):
            raise ValueError(
                "experts, experts_used and d_expert belong together: give all three or none"
            )
        if self.experts and self.experts_used and self.experts_used > self.experts:
            raise ValueError(
                f"experts_used {self.experts_used} is more than the {self.experts} experts"
            )
        if self.experts and self.context == "current":
            raise ValueError(
                "context: current is for the upper decoder layers, which with experts get none"
            )
        if self.d_cell and self.d_cell <= self.d_model:
            raise ValueError(
                f"d_cell {self.d_cell} is not above d_model {self.d_model}: cells are projected to"
                " fewer"
            )
        return self


# Layers of a stack in order: [channels, kernel, number of such layers]
Convolutions = Annotated[list[tuple[Width, Depth, Depth]], Field(min_length=1)]


class ConvS2S(Architecture):
    """A convolutional encoder and decoder with attention in every layer (Gehring et al. 2017)."""

    family: Literal["convs2s"] = "convs2s"
    encoder: Convolutions
    """Encoder layers, in order: [channels, kernel, number of such layers]."""
    decoder: Convolutions
    """Decoder layers, in order: [channels, kernel, number of such layers]."""
    d_embedding: Width
    """Width of embeddings."""
    d_output: Width
    """Width of the last layer before the output."""
    dropout: Fraction
    """Dropout on embeddings, on the input of each convolution and before the output."""

    @property
    def reach(self) -> int:
        """The subwords of a side that there are positions for, beside BOS or EOS."""
        return LEARNED_POSITIONS - 1


class ByteNet(Architecture):
    """Dilated convolutional encoder and decoder (Kalchbrenner et al. 2016)."""

    family: Literal["bytenet"] = "bytenet"
    d_hidden: Width
    """Width of the convolutions; sums between blocks are twice as wide."""
    sets: Depth = 6
    """Number of times that blocks of the dilations 1, 2, 4, 8 and 16 are repeated, in the encoder
    and in the decoder."""
    dropout: Fraction = 0.0
    """Dropout on the output of each block, and before the output layer."""


Model = Transformer | DecoderOnly | Seq2Seq | RNNSearch | GNMT | ConvS2S | ByteNet
FAMILIES: dict[str, type[Architecture]] = {
    cls.model_fields["family"].default: cls for cls in get_args(Model)
}
