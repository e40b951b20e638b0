"""Several models that translate as one: the ensembles of AIAYN Table 2."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from nmt.data.sequences import Source
from nmt.decoding.search import log_softmax
from nmt.models.protocol import Model, State, StepModel

# B sentences, S source length, R = B * beam rows, D sum of the members' widths, V vocabulary


class EnsembleState(State):
    """The members' states, one after the other."""

    def __init__(self, states: list[State]):
        self.states = states

    def reorder(self, rows: Tensor, steps: int = 1) -> None:
        """Keep rows (B', beam') of the R present, in every member's state."""
        for state in self.states:
            state.reorder(rows, steps)


class Ensemble(StepModel):
    """Several members as one model, which search can use.

    The probabilities of a step are the mean of the members'.
    """

    def __init__(self, members: list[Model]):
        super().__init__()
        self.members: Any = nn.ModuleList(members)
        self.reach = min((model.reach for model in members if model.reach), default=None)

    def start(self, source: Source) -> EnsembleState:
        """Return the members' states before the first step."""
        return EnsembleState([model.start(source) for model in self.members])

    def step(self, tokens: Tensor, state: EnsembleState) -> Tensor:
        """Return the members' hidden states (R, D), side by side, after tokens (R,)."""
        members = zip(self.members, state.states, strict=True)
        return torch.cat([model.step(tokens, member_state) for model, member_state in members], -1)

    def output(self, hidden: Tensor) -> Tensor:
        """Return logits (R, V) of states (R, D); they are log probabilities already."""
        widths = [model.output.in_features for model in self.members]
        pairs = zip(self.members, hidden.split(widths, -1), strict=True)
        log_probs = [log_softmax(model.output(member_hidden)) for model, member_hidden in pairs]
        return torch.stack(log_probs).logsumexp(0) - math.log(len(log_probs))
