"""What a training costs in floating-point operations: 6 N D plus attention, exact for each family.

A forward pass multiplies and adds once for each weight and each token that meets it; a multiplication with its
addition counts 2 operations, and the backward pass costs twice the forward one: 6 N D in all (Kaplan et al. 2020,
arXiv 2001.08361, section 2.1). N are the weights of matrices, the output projection among them, but no embedding
tables, which are only looked up. An encoder's weights meet the source tokens, a decoder's the target tokens.
Attention's products of positions with positions have no weights and come on top, masked ones included, as in
PaLM's account (Chowdhery et al. 2022, arXiv 2204.02311, appendix B). Padding, additions, softmax and norms are
not counted.
"""

import re
from dataclasses import dataclass

from nmt import configuration

# Sustained single-precision rates in FLOP/s that AIAYN's own account rests on (section 6.1, footnote 5).
SUSTAINED_RATES = {"K80": 2.8e12, "K40": 3.7e12, "M40": 6.0e12, "P100": 9.5e12}


@dataclass(frozen=True)
class Products:
    """Multiply-adds of one forward pass: for each sentence, token, and pair of positions in a sentence."""

    sentence: int = 0
    source: int = 0
    target: int = 0
    source_source: int = 0
    target_source: int = 0
    target_target: int = 0


def products(config: configuration.Model, vocabulary_size: int) -> Products:
    match config:
        case configuration.Transformer():
            return transformer(config, vocabulary_size)
        case configuration.RNNSearch():
            return rnnsearch(config, vocabulary_size)
        case configuration.Seq2Seq():
            return seq2seq(config, vocabulary_size)


def transformer(config: configuration.Transformer, vocabulary_size: int) -> Products:
    keys, values = config.heads * config.key_width, config.heads * config.value_width
    query_and_output = config.d_model * (keys + values)
    key_and_value = config.d_model * (keys + values)
    feed_forward = 2 * config.d_model * config.d_ff
    pair = config.layers * (keys + values)
    return Products(
        # The decoder's cross-attention maps the memory to keys and values once for each source token.
        source=config.layers * (query_and_output + key_and_value + feed_forward + key_and_value),
        target=config.layers * (2 * query_and_output + key_and_value + feed_forward) + config.d_model * vocabulary_size,
        source_source=pair,
        target_source=pair,
        target_target=pair,
    )


def rnnsearch(config: configuration.RNNSearch, vocabulary_size: int) -> Products:
    width, hidden = config.d_embedding, config.d_hidden
    encoder = 2 * 3 * hidden * (width + hidden)
    decoder = 3 * hidden * (width + 2 * hidden + hidden)
    maxout = 2 * (hidden // 2) * (hidden + width + 2 * hidden)
    return Products(
        sentence=hidden * hidden,  # s_0 from the encoder's last state
        source=encoder + 2 * hidden * hidden,  # U_a
        target=hidden * hidden + decoder + maxout + (hidden // 2) * vocabulary_size,  # W_a first
        target_source=hidden + 2 * hidden,  # v_a, and the context's weighted sum
    )


def seq2seq(config: configuration.Seq2Seq, vocabulary_size: int) -> Products:
    width, hidden = config.d_embedding, config.d_hidden
    stack = 4 * hidden * (width + hidden) + (config.layers - 1) * 4 * hidden * 2 * hidden
    return Products(source=stack, target=stack + hidden * vocabulary_size)


def training_flops(
    config: configuration.Model, vocabulary_size: int, sentences: float, source_tokens: float, target_tokens: float
) -> float:
    """Operations of training on so many sentence pairs with so many tokens in all, repeated ones counted again.

    Tokens count EOS. Pairs of positions are taken at the mean lengths, a little below their true number.
    """
    one = products(config, vocabulary_size)
    source, target = source_tokens / sentences, target_tokens / sentences
    tokens = one.source * source + one.target * target
    pairs = one.source_source * source**2 + one.target_source * target * source + one.target_target * target**2
    return 6 * sentences * (one.sentence + tokens + pairs)


def sustained_flops(seconds: float, device: str) -> float | None:
    """AIAYN's own account (section 6.1): training time times the device's sustained rate; None for one not in it."""
    words = re.split("[^A-Za-z0-9]", device)
    return next((seconds * rate for name, rate in SUSTAINED_RATES.items() if name in words), None)
