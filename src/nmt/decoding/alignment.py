"""Which words of a source a translation's words come from, as the model's attention has it."""

import torch
from torch import Tensor

from nmt.data.batches import pad_sources
from nmt.errors import UserError
from nmt.models.protocol import BOS, Model

# S source subwords, T target subwords, H heads

WORD = "▁"  # which begins the first subword of a word


@torch.inference_mode()
def align(model: Model, source: list[int], target: list[int]) -> list[int]:
    """For each target token, EOS left out, the place of the source token that it attends to most.

    The mean over heads, in the last layer but one where there are several: there attention is nearest to what
    people align (Garg et al. 2019, section 4.1). Raises UserError for a model without attention.
    """
    if not source or not target:
        return []
    device = next(model.parameters()).device
    inputs = pad_sources([source]).to(device), torch.tensor([[BOS, *target]], device=device)
    maps = list(model.attention(*inputs).values())
    if not maps:
        raise UserError("this model has no attention, so there are no alignments: leave --alignments out.")
    weights: Tensor = maps[max(len(maps) - 2, 0)][0].mean(0)  # (T + 1, S + 1)
    return weights[: len(target), : len(source)].argmax(1).tolist()


def words_of(pieces: list[str]) -> list[int]:
    """The number of the word, from 0, that each subword is part of."""
    numbers, number = [], -1
    for piece in pieces:
        number += piece.startswith(WORD) or number < 0
        numbers.append(number)
    return numbers


def word_links(links: list[int], source: list[str], target: list[str]) -> list[tuple[int, int]]:
    """Pairs of word numbers, source and target, each once, from the source place of each target subword."""
    words = words_of(source)
    pairs = {(word, words[place]) for word, place in zip(words_of(target), links, strict=True)}
    return [(there, here) for here, there in sorted(pairs)]
