"""Attention as it was before the Transformer: what is looked at, and how states are compared."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

# B sentences, S source length, T target length, H query width, M width of memory's states, A width
# of alignment


@dataclass
class Memory:
    """What decoders with attention look at, computed once a sentence."""

    states: Tensor  # (B, S, M)
    keys: Tensor  # (B, S, A): the states' share of the alignment's scores
    padding: Tensor  # (B, S), true at padding

    def follow(self, rows: Tensor, beam: int) -> "Memory":
        """That of the sentences still open, whose surviving beams are the rows (B', beam)."""
        if len(rows) == len(self.padding):
            return self
        sentences = rows[:, 0] // beam
        return Memory(self.states[sentences], self.keys[sentences], self.padding[sentences])


class Additive(nn.Module):
    """v^T tanh(W query + U state): Bahdanau et al. 2015, appendix A.1.2; Luong et al. 2015 call it
    concat.
    """

    def __init__(self, query_width: int, state_width: int, width: int):
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)
        self.key = nn.Linear(state_width, width)
        self.energy = nn.Linear(width, 1, bias=False)

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """(B, T, H), (B, S, A) -> (B, T, S)"""
        return self.energy(torch.tanh(self.query(queries)[:, :, None] + keys[:, None]))[..., 0]


class Product(nn.Module):
    """v^T (tanh(W query) * tanh(U state)): Shazeer et al. 2017, appendix G, who save time with
    it.
    """

    def __init__(self, query_width: int, state_width: int, width: int):
        super().__init__()
        self.query = nn.Linear(query_width, width, bias=False)
        self.key = nn.Sequential(nn.Linear(state_width, width, bias=False), nn.Tanh())
        self.energy = nn.Linear(width, 1, bias=False)

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """(B, T, H), (B, S, A) -> (B, T, S)"""
        return (torch.tanh(self.query(queries)) * self.energy.weight[0]) @ keys.mT


class Dot(nn.Module):
    """query^T state, which must be of one width: Luong et al. 2015, equation 8."""

    def __init__(self, query_width: int, state_width: int, width: int):
        super().__init__()
        self.key = self.make_key(query_width, state_width)

    def make_key(self, query_width: int, state_width: int) -> nn.Module:
        return nn.Identity()

    def scores(self, queries: Tensor, keys: Tensor) -> Tensor:
        """(B, T, H), (B, S, H) -> (B, T, S)"""
        return queries @ keys.mT


class General(Dot):
    """query^T W state: Luong et al. 2015, equation 8."""

    def make_key(self, query_width: int, state_width: int) -> nn.Module:
        return nn.Linear(state_width, query_width, bias=False)


ALIGNMENTS = {"concat": Additive, "general": General, "dot": Dot}


def attend(weights: Tensor, memory: Memory) -> Tensor:
    """(B, T, S) -> context (B, T, M)"""
    return weights.to(memory.states.dtype) @ memory.states


def masked_softmax(scores: Tensor, hidden_places: Tensor) -> Tensor:
    """(B, T, S), and what is true where no one may look, broadcast to it -> weights in at least
    float32.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    return scores.masked_fill(hidden_places, -torch.inf).softmax(-1)
