"""Which words of a source a translation's words come from, as the model's attention has it."""

import torch
from torch import Tensor

from nmt.data.batches import pad, pad_sources
from nmt.errors import UserError
from nmt.models.protocol import BOS, Model
from nmt.text.subwords import UNK, Subwords

# S source subwords, T target subwords, H heads

WORD = "▁"  # which begins the first subword of a word


@torch.inference_mode()
def align(model: Model, sources: list[list[int]], targets: list[list[int]]) -> list[list[int]]:
    """For each token of each target, EOS left out, the place of the source token that it attends to
    most.

    The mean over heads, in the last layer but one where there are several: there attention is
    nearest to what people align (Garg et al. 2019, section 4.1). Raises UserError for a model
    without attention.
    """
    device = next(model.parameters()).device
    inputs = pad_sources(sources), pad([[BOS, *target] for target in targets])
    maps = list(model.attention(*(part.to(device) for part in inputs)).values())
    if not maps:
        raise UserError(
            "this model has no attention, so there are no alignments: leave --alignments out."
        )
    weights: Tensor = maps[max(len(maps) - 2, 0)].mean(1)  # (B, T + 1, S + 1)
    return [
        one[: len(target), : len(source)].argmax(1).tolist() if source else []
        for one, source, target in zip(weights, sources, targets, strict=True)
    ]


def words_of(tokens: list[int], subwords: Subwords) -> list[int]:
    """The number of the word, from 0, that each subword is part of."""
    numbers, number = [], -1
    for token, piece in zip(tokens, subwords.pieces(tokens), strict=True):
        whole = token == UNK and subwords.unknown_is_a_word
        number += whole or piece.startswith(WORD) or number < 0
        numbers.append(number)
    return numbers


def word_links(links: list[int], source: list[int], target: list[int]) -> list[tuple[int, int]]:
    """Pairs of numbers of words, of source and target, each once. From the source place of each
    target subword and the
    number of each subword's word (`words_of`). An empty source has no links."""
    pairs = {(word, source[place]) for word, place in zip(target, links, strict=bool(source))}
    return [(there, here) for here, there in sorted(pairs)]
