"""The hyperparameters of convolutional models."""

from typing import Annotated, Literal

from pydantic import Field

from nmt.configuration.architecture import Architecture
from nmt.configuration.strict import NUMBER, Count, Depth, Fraction, Several, Width

Layers = Annotated[list[tuple[Count, Count, Count]], Field(min_length=1)]


class ConvS2S(Architecture):
    """A convolutional encoder and decoder with attention in every layer (Gehring et al. 2017)."""

    family: Literal["convs2s"] = "convs2s"
    encoder: Layers
    """Encoder layers, in order: [channels, kernel, number of such layers]."""
    decoder: Layers
    """Decoder layers, in order: [channels, kernel, number of such layers]."""
    d_embedding: Width
    """Width of embeddings."""
    d_output: Width
    """Width of the last layer before the output."""
    dropout: Fraction
    """Dropout on embeddings, on the input of each convolution and before the output."""
    max_positions: Count = 1024
    """Largest number of tokens per side."""

    @property
    def reach(self) -> int:
        """The subwords of a side that there are positions for, beside BOS or EOS."""
        return self.max_positions - 1

    @property
    def embedding_width(self) -> int:
        """The largest width of an embedding or of the output's matrix."""
        return max(self.d_embedding, self.d_output)

    @property
    def layer_weights(self) -> int:
        """About how many weights all layers have."""
        weights = 0
        for stack, attention in ((self.encoder, 0), (self.decoder, 2)):
            width = self.d_embedding
            for d, kernel, count in stack:
                weights += 2 * kernel * d * (width + (count - 1) * d)
                weights += attention * count * d * self.d_embedding
                width = d
        positions = 2 * self.max_positions * self.d_embedding
        return weights + positions + 4 * width * self.embedding_width


class ByteNet(Architecture):
    """Dilated convolutional encoder and decoder (Kalchbrenner et al. 2016)."""

    family: Literal["bytenet"] = "bytenet"
    d_hidden: Width
    """Width of the convolutions; sums between blocks are twice as wide."""
    sets: Depth = 6
    """Number of times that the blocks of all dilations are repeated, in the encoder and in the
    decoder."""
    dilations: Annotated[tuple[Count, ...], Field(min_length=1)] = (1, 2, 4, 8, 16)
    """Dilation of each block of a set."""
    kernel: Several = 3
    """Width of the convolutions in positions."""
    unfold: Annotated[float, Field(ge=1), NUMBER] = 1.2
    """Number of encoder columns per source token."""
    dropout: Fraction = 0.0
    """Dropout on the output of each block, and before the output layer."""

    @property
    def embedding_width(self) -> int:
        """The largest width of an embedding or of the output's matrix."""
        return 2 * self.d_hidden

    @property
    def layer_weights(self) -> int:
        """About how many weights all layers have."""
        d = self.d_hidden
        blocks = 2 * self.sets * len(self.dilations)
        return blocks * (4 + self.kernel) * d * d + 8 * d * d
