"""What a forward pass multiplies, counted by torch itself: no family needs a formula of its own."""

import warnings

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from nmt.models.protocol import Model
from nmt.text.subwords import UNK

# Six pairs of lengths settle six numbers; multiples of five, which ByteNet unfolds without rounding.
LENGTHS = ((5, 5), (10, 5), (15, 5), (5, 10), (5, 15), (10, 10))
NAMES = ("sentence", "source", "target", "source_source", "target_source", "target_target")


def products(model: Model, source_too: bool = False) -> dict[str, float]:
    """Multiply-adds of one forward pass: for each sentence, token, and pair of positions in a sentence.

    source_too: where the source is learnt as well, its output is counted. The model must be on the CPU.
    """
    model.eval()
    found = [count(model, *lengths, source_too) for lengths in LENGTHS]
    powers = [[1, s, t, s * s, t * s, t * t] for s, t in LENGTHS]
    # Whole numbers but for ByteNet, whose columns are 1.2 for each source token.
    return dict(zip(NAMES, np.linalg.solve(powers, found).round(3).tolist(), strict=True))


@torch.no_grad()
def count(model: Model, source: int, target: int, source_too: bool) -> int:
    """Of one pair of sentences so many tokens long."""
    pair = (torch.full((1, length), UNK) for length in (source, target))
    # oneDNN's recurrent layers are one operation, which the counter does not know; without it they are products.
    with (
        warnings.catch_warnings(action="ignore"),  # to switch oneDNN off warns of GPUs that are not there
        torch.backends.mkldnn.flags(enabled=False),
        FlopCounterMode(display=False) as counter,
    ):
        hidden = model(*pair)
        model.output(hidden.target)
        if source_too:
            model.output(hidden.source[0])
    return counter.get_total_flops() // 2
