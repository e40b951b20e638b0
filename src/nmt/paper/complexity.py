"""AIAYN's Table 1, as printed, of the layers that a reproduction's models are made of."""

import pandas as pd

from nmt.configuration import GNMT, ByteNet, ConvS2S, Model, RNNSearch, SelfAttention, Seq2Seq
from nmt.paper.markup import Sheet

# Models, their layer, complexity, sequential operations, longest path, and where that is printed
LAYERS = (
    (SelfAttention, "Self-attention", "O(n²·d)", "O(1)", "O(1)", "Table 1"),
    ((RNNSearch, Seq2Seq, GNMT), "Recurrent", "O(n·d²)", "O(n)", "O(n)", "Table 1"),
    (ByteNet, "Convolutional, dilated (ByteNet)", "O(k·n·d²)", "O(1)", "O(log_k(n))", "Table 1"),
    (ConvS2S, "Convolutional, contiguous (ConvS2S)", "O(k·n·d²)", "O(1)", "O(n/k)", "section 4"),
    (SelfAttention, "Self-attention (restricted)", "O(r·n·d)", "O(1)", "O(n/r)", "Table 1"),
)
COLUMNS = (
    *("layer", "complexity per layer", "sequential operations", "maximum path length"),
    "printed in",
)
NOTES = [
    "As printed in Vaswani et al. 2017, where n is the length of the sequence, d the width, k the"
    " kernel of convolutions and r the neighborhood of restricted self-attention.",
    "Complexity: multiplications and additions of self-attention without its projections, which add"
    " O(n·d²). Path length: between any two positions of a stack of such layers.",
]


def complexity_sheet(models: list[Model]) -> Sheet:
    """Return the rows of AIAYN's Table 1 whose families are among the models."""
    rows = [row for kinds, *row in LAYERS if any(isinstance(model, kinds) for model in models)]
    data = pd.DataFrame(rows, columns=list(COLUMNS))
    return Sheet("Complexity of layers (AIAYN Table 1)", [data], data, NOTES)
