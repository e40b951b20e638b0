"""Several models as one: AIAYN Table 2's ensembles."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from nmt.decoding.search import log_softmax
from nmt.models.protocol import Model, State

# B sentences, S source length, R = B * beam rows, V vocabulary


@dataclass
class Together:
    states: list[State]

    def reorder(self, rows: Tensor) -> None:
        for state in self.states:
            state.reorder(rows)


class Ensemble(nn.Module):
    """What search needs of the protocol; the probabilities of a step are the mean of the
    members'.
    """

    def __init__(self, members: list[Model]):
        super().__init__()
        self.members = nn.ModuleList(members)

    def encode(self, source: Tensor) -> list[object]:
        return [model.encode(source) for model in self.members]

    def start(self, memory: list[object], beam: int) -> Together:
        return Together(
            [model.start(own, beam) for model, own in zip(self.members, memory, strict=True)]
        )

    def step(self, tokens: Tensor, state: Together) -> tuple[Tensor, Together]:
        """(R,) -> (R, D), the members' own states side by side"""
        steps = [
            model.step(tokens, own) for model, own in zip(self.members, state.states, strict=True)
        ]
        return torch.cat([hidden for hidden, _ in steps], -1), Together([own for _, own in steps])

    def output(self, hidden: Tensor) -> Tensor:
        """(R, D) -> (R, V): logits that are log probabilities already"""
        own = hidden.split([model.output.in_features for model in self.members], -1)
        each = [
            log_softmax(model.output(part)) for model, part in zip(self.members, own, strict=True)
        ]
        return torch.stack(each).logsumexp(0) - math.log(len(each))
