"""Several models that translate as one: the ensembles of AIAYN Table 2."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.data.sequences import Source
from nmt.decoding.search import log_softmax
from nmt.models.layers import Layers
from nmt.models.protocol import Model, State, StepModel

# B sentences, S source length, R = B * beam rows, D sum of the members' widths, V vocabulary


@dataclass
class EnsembleState:
    """The members' states, one after the other."""

    states: list[State]

    def reorder(self, rows: Tensor) -> None:
        """Keep rows (B', beam') of the R present, in every member's state."""
        for state in self.states:
            state.reorder(rows)


class Ensemble(StepModel):
    """Several members as one model, which search can use.

    The probabilities of a step are the mean of the members'.
    """

    def __init__(self, members: list[Model]):
        super().__init__()
        self.members = Layers(members)

    def encode(self, source: Source) -> list[object]:
        """Return what each member encodes the sources as."""
        return [model.encode(source) for model in self.members]

    def start(self, encoded: list[object]) -> EnsembleState:
        """Return the members' states before the first step."""
        pairs = zip(self.members, encoded, strict=True)
        return EnsembleState([model.start(member_encoded) for model, member_encoded in pairs])

    def step(self, tokens: Tensor, state: EnsembleState) -> tuple[Tensor, EnsembleState]:
        """Return the members' hidden states (R, D), side by side, after tokens (R,)."""
        pairs = zip(self.members, state.states, strict=True)
        steps = [model.step(tokens, member_state) for model, member_state in pairs]
        hidden = torch.cat([member_hidden for member_hidden, _ in steps], -1)
        return hidden, EnsembleState([member_state for _, member_state in steps])

    def output(self, hidden: Tensor) -> Tensor:
        """Return logits (R, V) of states (R, D); they are log probabilities already."""
        widths = [model.output.in_features for model in self.members]
        pairs = zip(self.members, hidden.split(widths, -1), strict=True)
        log_probs = [log_softmax(model.output(member_hidden)) for model, member_hidden in pairs]
        return torch.stack(log_probs).logsumexp(0) - math.log(len(log_probs))
