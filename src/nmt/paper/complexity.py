"""AIAYN's Table 1, as printed, with what the symbols are in this project's models."""

import pandas as pd

from nmt.paper.markup import Sheet

# Layer, complexity, sequential operations, longest path, and where the formulas are printed
LAYERS = (
    ("Self-attention", "O(n²·d)", "O(1)", "O(1)", "Table 1"),
    ("Recurrent", "O(n·d²)", "O(n)", "O(n)", "Table 1"),
    ("Convolutional, dilated (ByteNet)", "O(k·n·d²)", "O(1)", "O(log_k(n))", "Table 1"),
    ("Convolutional, contiguous (ConvS2S)", "O(k·n·d²)", "O(1)", "O(n/k)", "section 4"),
    ("Self-attention (restricted)", "O(r·n·d)", "O(1)", "O(n/r)", "Table 1"),
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


def complexity_sheet() -> Sheet:
    """Return AIAYN's Table 1, which is the same in every reproduction."""
    data = pd.DataFrame(LAYERS, columns=list(COLUMNS))
    return Sheet("Complexity of layers (AIAYN Table 1)", [data], data, NOTES)
