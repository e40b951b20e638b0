"""Attention of a decoder to encoder states: Bahdanau et al. 2015, Luong et al. 2015.

A score function compares decoder states with encoder states; their softmax over the source are the
weights, and the sum of encoder states with these weights is the context vector.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

# B sentences, S source length, T target length, H width of decoder states, M width of encoder
# states, A width of keys

LOCATIONS = 51  # that LocationScore has weights for: Luong's sentences of 50 words, and EOS


class Memory(NamedTuple):
    """The encoded source, computed once per sentence.

    encoder_states: (B, S, M), whose weighted sums are contexts.
    keys: (B, S, A), the part of the scores that depends on encoder states alone.
    padding: (B, S), true at padding.
    """

    encoder_states: Tensor
    keys: Tensor
    padding: Tensor


class ScoreFunction(nn.Module):
    """A comparison of decoder states s with encoder states h, of which `key` makes (B, S, A)."""

    key: nn.Module

    def scores(self, decoder_states: Tensor, keys: Tensor) -> Tensor:
        """Compare all pairs of states by dot products: (B, T, A), (B, S, A) -> (B, T, S)."""
        return decoder_states @ keys.mT

    def memory(self, encoder_states: Tensor, padding: Tensor) -> Memory:
        """Return what decoder states are compared with: (B, S, M), (B, S)."""
        return Memory(encoder_states, self.key(encoder_states), padding)

    def attend(self, decoder_states: Tensor, memory: Memory) -> tuple[Tensor, Tensor]:
        """Return the contexts (B, T, M) and weights (B, T, S) of decoder states (B, T, H)."""
        scores = self.scores(decoder_states, memory.keys)
        weights = masked_softmax(scores, memory.padding[:, None])
        return context_vectors(weights, memory), weights


class DotScore(ScoreFunction):
    """s^T h, for states of the same width: Luong et al. 2015, equation 8."""

    def __init__(self, decoder_width: int, encoder_width: int):
        super().__init__()
        self.key = nn.Identity()


class ScaledDotScore(DotScore):
    """s^T h / sqrt(H): AIAYN equation 1."""

    def scores(self, decoder_states: Tensor, keys: Tensor) -> Tensor:
        """Compare all pairs of states: (B, T, A), (B, S, A) -> (B, T, S)."""
        return super().scores(decoder_states, keys) / math.sqrt(keys.size(-1))


class ProjectedScore(ScaledDotScore):
    """s^T k / sqrt(H), whose contexts are sums of values v: k = W_k h + b_k, v = W_v h + b_v."""

    def __init__(self, decoder_width: int, encoder_width: int):
        super().__init__(decoder_width, encoder_width)
        self.key = nn.Linear(encoder_width, decoder_width)
        self.value = nn.Linear(encoder_width, decoder_width)

    def memory(self, encoder_states: Tensor, padding: Tensor) -> Memory:
        """Return the values in the place of the states: (B, S, M), (B, S)."""
        return Memory(self.value(encoder_states), self.key(encoder_states), padding)


class LocationScore(DotScore):
    """W s, a score for each place of the source, whatever is there: Luong, equation 9.

    Long sentences get no weight near their end, as there.
    """

    def __init__(self, decoder_width: int, encoder_width: int):
        super().__init__(decoder_width, encoder_width)
        self.place = nn.Linear(decoder_width, LOCATIONS, bias=False)

    def scores(self, decoder_states: Tensor, keys: Tensor) -> Tensor:
        """Score the places of a source: (B, T, H), (B, S, M) -> (B, T, S)."""
        beyond = keys.size(1) - LOCATIONS
        return F.pad(self.place(decoder_states), (0, beyond), value=-torch.inf)


class GeneralScore(ScoreFunction):
    """s^T W h: Luong et al. 2015, equation 8."""

    def __init__(self, decoder_width: int, encoder_width: int):
        super().__init__()
        self.key = nn.Linear(encoder_width, decoder_width, bias=False)


class AdditiveScore(ScoreFunction):
    """v^T tanh(W s + U h): Bahdanau et al. 2015, appendix A.1.2.

    Luong et al. 2015 call it concat.
    """

    key: nn.Linear

    def __init__(self, decoder_width: int, encoder_width: int):
        super().__init__()
        self.query = nn.Linear(decoder_width, decoder_width, bias=False)
        self.key = nn.Linear(encoder_width, decoder_width)
        self.energy = nn.Linear(decoder_width, 1, bias=False)

    def scores(self, decoder_states: Tensor, keys: Tensor) -> Tensor:
        """Compare all pairs of states: (B, T, H), (B, S, A) -> (B, T, S, A) -> (B, T, S)."""
        queries = self.query(decoder_states)
        return self.energy(torch.tanh(queries[:, :, None] + keys[:, None]))[..., 0]


class TanhProductScore(ScoreFunction):
    """v^T (tanh(W s) * tanh(U h)), which takes less time than the additive score.

    Shazeer et al. 2017, appendix G.
    """

    def __init__(self, decoder_width: int, encoder_width: int):
        super().__init__()
        self.query = nn.Linear(decoder_width, decoder_width, bias=False)
        self.key = nn.Sequential(nn.Linear(encoder_width, decoder_width, bias=False), nn.Tanh())
        self.energy = nn.Linear(decoder_width, 1, bias=False)

    def scores(self, decoder_states: Tensor, keys: Tensor) -> Tensor:
        """Compare all pairs of states: (B, T, H), (B, S, A) -> (B, T, S)."""
        return (torch.tanh(self.query(decoder_states)) * self.energy.weight[0]) @ keys.mT


SCORE_FUNCTIONS: dict[str, Callable[[int, int], ScoreFunction]] = {
    "concat": AdditiveScore,
    "general": GeneralScore,
    "dot": DotScore,
    "scaled-dot": ScaledDotScore,
    "location": LocationScore,
}


def context_vectors(weights: Tensor, memory: Memory) -> Tensor:
    """Return the weighted sums of encoder states: (B, T, S) -> (B, T, M)."""
    return weights.to(memory.encoder_states.dtype) @ memory.encoder_states


def masked_softmax(scores: Tensor, mask: Tensor) -> Tensor:
    """Return attention's weights, in at least float32: (B, T, S) -> (B, T, S).

    mask: broadcast to the scores, true at positions that get no weight.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return scores.masked_fill(mask, -torch.inf).softmax(-1)
