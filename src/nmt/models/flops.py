"""The floating-point operations of a training: 6 N D plus attention, for each family.

A forward pass multiplies and adds once for each weight and each token that meets it; a
multiplication with its addition counts 2 operations, and the backward pass costs twice the forward
one: 6 N D in all (Kaplan et al. 2020, arXiv 2001.08361, section 2.1). N are the weights of
matrices, the output projection among them, but no embedding tables, which are only looked up. An
encoder's weights meet the source tokens, a decoder's the target tokens. Attention's products of
positions with positions have no weights and come on top, masked ones included, as in PaLM's account
(Chowdhery et al. 2022, arXiv 2204.02311, appendix B). Padding, additions, softmax and norms are not
counted. torch itself counts a forward pass: no family needs a formula of its own. The count is
exact, but for a ByteNet whose number of columns has to be rounded at LENGTHS, and Transformer-XL's
distances, which a batch projects once.
"""

import warnings

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from nmt.data.sequences import Sequences, Source
from nmt.models.protocol import Model
from nmt.text.subwords import UNK

# Six pairs of lengths determine six numbers; multiples of five, which ByteNet unfolds without
# rounding.
LENGTHS = ((5, 5), (10, 5), (15, 5), (5, 10), (5, 15), (10, 10))
NAMES = ("sentence", "source", "target", "source_source", "target_source", "target_target")


def multiply_adds(model: Model, source_too: bool = False) -> dict[str, float]:
    """Return the multiply-adds of one forward pass.

    They are counted for each sentence, token, and pair of positions in a sentence.

    source_too: where the source is learned as well, its output is counted. The model must be on the
      CPU.
    """
    model.eval()
    counts = [forward_multiply_adds(model, *lengths, source_too) for lengths in LENGTHS]
    coefficients = [monomials(source, target) for source, target in LENGTHS]
    solution = np.linalg.solve(coefficients, counts)
    # Whole numbers but for ByteNet, whose columns are 1.2 for each source token.
    return dict(zip(NAMES, solution.round(3).tolist(), strict=True))


def monomials(source: float, target: float) -> list[float]:
    """Return how often a sentence pair of these lengths has each of NAMES."""
    return [1, source, target, source * source, target * source, target * target]


@torch.no_grad()
def forward_multiply_adds(model: Model, source: int, target: int, source_too: bool) -> int:
    """Return the multiply-adds for one sentence pair of these lengths, in tokens."""
    source_sentence = Source.padded(torch.full((1, source), UNK), torch.tensor([source]))
    target_sentence = Sequences.of(torch.full((1, target), UNK))
    # oneDNN's recurrent layers are one operation, which the counter does not know; without it they
    # are products.
    with (
        # Switching oneDNN off warns of GPUs that are not there.
        warnings.catch_warnings(action="ignore"),
        torch.backends.mkldnn.flags(enabled=False),
        FlopCounterMode(display=False) as counter,
    ):
        hidden = model(source_sentence, target_sentence)
        model.output(hidden.target)
        if source_too:
            assert hidden.source is not None
            model.output(hidden.source[0])
    return counter.get_total_flops() // 2


def training_flops(
    counts: dict[str, float], sentences: float, source_tokens: float, target_tokens: float
) -> float:
    """Return the FLOPs of training on so many sentence pairs with so many tokens in all.

    counts: as `multiply_adds` counts them. Tokens count EOS, and repeated ones again. Pairs of
    positions are taken at the mean lengths, a little below their true number.
    """
    mean_lengths = source_tokens / sentences, target_tokens / sentences
    factors = dict(zip(NAMES, monomials(*mean_lengths), strict=True))
    return 6 * sentences * sum(counts[name] * factor for name, factor in factors.items())
