"""What a model is: a class for each family, whose keys are the paper's hyperparameters.

Recurrent and convolutional families have modules of their own; FAMILIES lists all.
"""

from typing import ClassVar, Literal

from pydantic import model_validator

from nmt.configuration.architecture import Architecture
from nmt.configuration.convolutional import ByteNet, ConvS2S
from nmt.configuration.recurrent import GNMT, RNNSearch, Seq2Seq
from nmt.configuration.strict import Count, Depth, Fraction, Positive, Width


class SelfAttention(Architecture):
    """What Transformers have in common, with one stack or two.

    stacks: encoder and decoder, or one. attentions: those of a layer of each stack together.
    """

    stacks: ClassVar[int]
    attentions: ClassVar[int]
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
    d_v: Width | None = None
    """Width of a head's values; d_model / heads if not given."""
    dropout: Fraction
    """Dropout P_drop, after each sublayer and on embeddings plus positions (AIAYN section 5.4)."""
    positions: Literal["sinusoidal", "learned", "none", "relative", "rotary", "alibi"] = (
        "sinusoidal"
    )
    """Positions: sinusoidal (AIAYN section 3.5) or learned (Table 3, row E), added to embeddings;
    relative (Shaw et al. 2018), rotary (Su et al. 2021) or alibi (Press et al. 2022), inside
    self-attention; or none."""
    max_positions: Count = 1024
    """Largest number of tokens per side, with learned positions."""
    positions_std: Positive | None = None
    """Standard deviation of the initial learned positions; d_model^-0.5 if not given."""
    max_distance: Count = 16
    """Largest distance up to which relative positions differ."""
    norm: Literal["post", "pre"] = "post"
    """Place of layer normalization: post, LayerNorm(x + f(x)), as in AIAYN; or pre,
    x + f(LayerNorm(x)), with a last norm (Xiong et al. 2020)."""
    activation: Literal["relu", "gelu"] = "relu"
    """Activation between the two feed-forward layers."""

    @model_validator(mode="after")
    def check(self):
        """Refuse widths that do not fit each other."""
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
        """The subwords of a side that there are positions for, beside BOS or EOS."""
        return self.max_positions - 1 if self.positions == "learned" else None

    def paper_rate(self, warmup: int) -> float:
        """Return the largest learning rate of AIAYN equation 3.

        It is that of d_model^-0.5 * min(update^-0.5, update * warmup^-1.5) at update `warmup`.
        """
        return (self.d_model * warmup) ** -0.5

    @property
    def table3_settings(self) -> dict[str, int | float]:
        """The settings that AIAYN's Table 3 varies, by its columns."""
        return {
            "layers": self.layers,
            "d_model": self.d_model,
            "d_ff": self.d_ff,
            "heads": self.heads,
            "d_k": self.key_width,
            "d_v": self.value_width,
            "dropout": self.dropout,
        }

    @property
    def embedding_width(self) -> int:
        """The largest width of an embedding or of the output's matrix."""
        return self.d_model

    @property
    def layer_weights(self) -> int:
        """About how many weights all layers have."""
        attention = 2 * self.d_model * self.heads * (self.key_width + self.value_width)
        layer = self.attentions * attention + self.stacks * 2 * self.d_model * self.d_ff
        positions = self.max_positions * self.d_model if self.positions == "learned" else 0
        return self.layers * layer + self.stacks * positions

    @property
    def key_width(self) -> int:
        """d_k, given or not."""
        return self.d_k or self.d_model // self.heads

    @property
    def value_width(self) -> int:
        """d_v, given or not."""
        return self.d_v or self.d_model // self.heads


class Transformer(SelfAttention):
    """The encoder-decoder of AIAYN section 3."""

    stacks = 2
    attentions = 3
    family: Literal["transformer"] = "transformer"
    tie: Literal["all", "decoder", "none"] = "all"
    """Tied embeddings: all, one matrix for source, target and output (AIAYN section 3.4); decoder,
    one for target and output (Press and Wolf 2017); or none."""

    @property
    def needs_joint_vocabulary(self) -> str | None:
        """The reason why both sides must have one vocabulary, if they must."""
        return "tie: all needs one vocabulary for both sides" if self.tie == "all" else None


class DecoderOnly(SelfAttention):
    """A language model of source and target in one sequence (Wang et al. 2021)."""

    stacks = 1
    attentions = 1
    family: Literal["decoder-only"] = "decoder-only"
    prefix: bool = False
    """Whether every source token attends to the whole source; otherwise attention to the source is
    causal, and its tokens may be learned too (source_loss)."""
    tie: Literal["all", "none"] = "all"
    """Tied embeddings: all, one matrix for tokens and output; or none."""

    @property
    def reach(self) -> int | None:
        """The subwords of a side that there are positions for, beside tags and EOS."""
        return (self.max_positions - 3) // 2 if self.positions == "learned" else None

    @property
    def learns_source(self) -> bool:
        """Whether the model predicts the source's tokens too."""
        return not self.prefix

    @property
    def needs_joint_vocabulary(self) -> str | None:
        """The reason why both sides must have one vocabulary."""
        return "one sequence needs one vocabulary"


Model = Transformer | DecoderOnly | Seq2Seq | RNNSearch | GNMT | ConvS2S | ByteNet
FAMILIES: dict[str, type[Architecture]] = {
    "transformer": Transformer,
    "decoder-only": DecoderOnly,
    "seq2seq": Seq2Seq,
    "rnnsearch": RNNSearch,
    "gnmt": GNMT,
    "convs2s": ConvS2S,
    "bytenet": ByteNet,
}
