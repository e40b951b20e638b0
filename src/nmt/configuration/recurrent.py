"""The hyperparameters of recurrent models."""

from typing import Literal

from pydantic import model_validator

from nmt.configuration.architecture import Architecture
from nmt.configuration.strict import Count, Depth, Fraction, Positive, Several, Width


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
    words at most `window` away from a predicted position."""
    score: Literal["dot", "general", "concat"] | None = None
    """Attention score of decoder and encoder states (Luong, equation 8)."""
    window: Count | None = None
    """Number of words on either side that local-p attends to."""
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
    1 (Jozefowicz et al. 2015). The range that suits widths of 1,000 is too small for narrow LSTMs,
    and a wider one makes them chaotic."""

    @property
    def embedding_width(self) -> int:
        """The largest width of an embedding or of the output's matrix."""
        return max(self.d_embedding, self.d_hidden)

    @property
    def layer_weights(self) -> int:
        """About how many weights all layers have."""
        d = self.d_hidden
        first = 2 * 4 * d * (d + self.d_embedding + d)
        return first + (self.layers - 1) * 2 * 4 * d * 2 * d + 4 * d * d

    @model_validator(mode="after")
    def check(self):
        """Refuse keys of attention that do not go together."""
        attends = self.attention != "none"
        if attends != (self.score is not None):
            raise ValueError(f"attention {self.attention} {'needs' if attends else 'has no'} score")
        if (self.attention == "local-p") != (self.window is not None):
            needs = "has no" if self.window else "needs a"
            raise ValueError(f"attention {self.attention} {needs} window")
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
    dropout: Fraction
    """Dropout on embeddings, on the encoder's states and before the output."""
    attention: Literal["additive", "none"] = "additive"
    """Attention: additive (RNNsearch) or none (RNNencdec)."""
    init_std: Positive | None = 0.01
    """Standard deviation of the normal initialization of matrices that are not recurrent; those of
    the alignment model have a tenth of it (appendix B.1). null takes torch's initialization."""

    @property
    def has_alignment_matrix(self) -> bool:
        """Whether attention is one matrix of alignment, as Bahdanau et al. 2015 draw it."""
        return self.attention == "additive"

    @property
    def embedding_width(self) -> int:
        """The largest width of an embedding or of the output's matrix."""
        return max(self.d_embedding, self.d_hidden // 2)

    @property
    def layer_weights(self) -> int:
        """About how many weights all layers have."""
        d = self.d_hidden
        return 3 * d * (3 * d + 3 * self.d_embedding + 2 * d) + 8 * d * d


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
    experts: Count | None = None
    """Number of experts of each mixture layer, which makes the model MoE."""
    experts_used: Count | None = None
    """Number of experts that each token is routed to."""
    d_expert: Width | None = None
    """Inner width of an expert."""
    balance: Positive | None = None
    """Weight of the load-balancing losses; 0.01 if not given."""

    @property
    def has_loss_of_batches(self) -> bool:
        """Whether there are experts, whose balance is that of a micro-batch."""
        return self.experts is not None

    @property
    def embedding_width(self) -> int:
        """The largest width of an embedding or of the output's matrix."""
        return self.d_model

    @property
    def layer_weights(self) -> int:
        """About how many weights all layers have."""
        cell = self.d_cell or self.d_model
        weights = (2 * self.layers + 1) * 4 * cell * 3 * self.d_model + 4 * self.d_model**2
        if self.experts and self.d_expert:
            weights += 2 * self.experts * 2 * self.d_model * self.d_expert
        return weights

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
                f"experts_used {self.experts_used} is more than the {self.experts} experts there"
                " are"
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

    @property
    def balance_weight(self) -> float:
        """The weight of the load-balancing losses, given or not."""
        return self.balance or 0.01
