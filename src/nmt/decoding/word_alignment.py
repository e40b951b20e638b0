"""Word alignments: the source word that the model's attention gives to each translated word."""

import torch
from torch import Tensor

from nmt.data.batch import pad, pad_sources
from nmt.data.sequences import Sequences
from nmt.errors import UserError
from nmt.models.protocol import BOS, Model
from nmt.text.subwords import UNK, Segmenter

# B sentences, S longest source in subwords, T longest target, H heads

WORD_START = ("▁", "<0x20>")  # begin the first subword of a word; the second is a space as a byte


@torch.inference_mode()
def align(model: Model, sources: list[list[int]], targets: list[list[int]]) -> list[list[int]]:
    """Return for each target token the position of the source token that it attends to most.

    EOS is left out on both sides; an empty source has no positions. Attention is the mean over
    heads, in the last layer but one where there are several: there it is nearest to what people
    align (Garg et al. 2019, section 4.1). Raises UserError for a model without attention.
    """
    device = next(model.parameters()).device
    source = pad_sources(sources).to(device)
    target = Sequences.of(pad([[BOS, *target] for target in targets]).to(device))
    maps = list(model.attention(source, target).values())
    if not maps:
        raise UserError(
            "this model has no attention, so there are no alignments: leave --alignments out."
        )
    weights: Tensor = maps[max(len(maps) - 2, 0)].mean(1)  # (B, H, T + 1, S + 1) -> without H
    return [
        attended[: len(target), : len(source)].argmax(1).tolist() if source else []
        for attended, source, target in zip(weights, sources, targets, strict=True)
    ]


def word_numbers(tokens: list[int], subwords: Segmenter) -> list[int]:
    """Return the number, from 0, of the word that each subword is part of."""
    numbers = []
    number = -1
    for token, piece in zip(tokens, subwords.pieces(tokens), strict=True):
        unknown_word = token == UNK and subwords.unknown_is_a_word
        number += unknown_word or piece.startswith(WORD_START) or number < 0
        numbers.append(number)
    return numbers


def word_links(
    links: list[int], source_words: list[int], target_words: list[int]
) -> list[tuple[int, int]]:
    """Return pairs of word numbers (source, target), sorted by target, each pair once.

    links: the source position of each target subword, as from `align`. source_words, target_words:
    the number of each subword's word, as from `word_numbers`. An empty source has no links.
    """
    linked = zip(target_words, links, strict=bool(source_words))
    pairs = {(target_word, source_words[position]) for target_word, position in linked}
    return [(source_word, target_word) for target_word, source_word in sorted(pairs)]
