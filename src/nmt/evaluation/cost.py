"""What a training costs in floating-point operations: 6 N D plus attention, exact for each family.

A forward pass multiplies and adds once for each weight and each token that meets it; a multiplication with its
addition counts 2 operations, and the backward pass costs twice the forward one: 6 N D in all (Kaplan et al. 2020,
arXiv 2001.08361, section 2.1). N are the weights of matrices, the output projection among them, but no embedding
tables, which are only looked up. An encoder's weights meet the source tokens, a decoder's the target tokens.
Attention's products of positions with positions have no weights and come on top, masked ones included, as in
PaLM's account (Chowdhery et al. 2022, arXiv 2204.02311, appendix B). Padding, additions, softmax and norms are
not counted. nmt.models.products counts one forward pass.
"""

import re

# Sustained single-precision rates in FLOP/s that AIAYN's own account rests on (section 6.1, footnote 5).
SUSTAINED_RATES = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}


def training_flops(products: dict[str, float], sentences: float, source_tokens: float, target_tokens: float) -> float:
    """Operations of training on so many sentence pairs with so many tokens in all, repeated ones counted again.

    products: as nmt.models.products counts them. Tokens count EOS. Pairs of positions are taken at the mean lengths,
    a little below their true number.
    """
    s, t = source_tokens / sentences, target_tokens / sentences
    times = {
        "sentence": 1,
        "source": s,
        "target": t,
        "source_source": s * s,
        "target_source": t * s,
        "target_target": t * t,
    }
    return 6 * sentences * sum(products[name] * factor for name, factor in times.items())


def sustained_flops(seconds: float, device: str) -> float | None:
    """AIAYN's own account (section 6.1): training time times the device's sustained rate; None for one not in it."""
    words = re.split("[^A-Za-z0-9]", device)
    return next((seconds * rate for name, rate in SUSTAINED_RATES.items() if name in words), None)
