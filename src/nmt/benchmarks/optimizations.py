"""The optimizations that make training fast, and what replaces them to measure their worth."""

from collections.abc import Iterable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt.data.batches import Batches
from nmt.models import attention
from nmt.models.attention import MultiHeadAttention
from nmt.models.dropout import Dropout
from nmt.models.protocol import PAD
from nmt.training import trainer


def separate_projections(
    self: MultiHeadAttention, x: Tensor, start: int = 0
) -> tuple[Tensor, Tensor, Tensor]:
    """Return queries, keys and values as MultiHeadAttention.project does, by three products."""
    weights = self.qkv.weight.split(self.widths)
    q, k, v = (self.split_heads(F.linear(x, weight)) for weight in weights)
    return self.position_bias.rotate(q, start), self.position_bias.rotate(k, start), v


def unchunked_cross_entropy(
    hidden: Tensor,
    output: nn.Linear,
    targets: Tensor,
    smoothing: float,
    dtype: torch.dtype | None = None,
) -> tuple[Tensor, Tensor]:
    """Return what nmt.training.objective.cross_entropy does, with all logits held at once.

    hidden: (B, T, D). targets: (B, T). dtype: autocast's, which is on where there is one.
    """
    logits = output(hidden.flatten(0, 1))
    targets = targets.flatten()
    loss = F.cross_entropy(
        logits, targets, ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
    )
    with torch.no_grad():
        nll = F.cross_entropy(logits, targets, ignore_index=PAD, reduction="sum")
    return loss, nll


class UnfusedAdam(torch.optim.Adam):
    """Adam in torch's default implementation, whatever `fused` says."""

    def __init__(self, parameters: Iterable[Tensor], fused: bool, **settings: Any):
        super().__init__(parameters, **settings)

    def step(self, closure: Any = None) -> Any:
        """Update the parameters, whether the gradient is finite or not."""
        self.found_inf = None  # set by the trainer, and only the fused implementation allows it
        return super().step(closure)


# Name of an optimization: the object that has it, the attribute's name, and its replacement
REPLACEMENTS = {
    "sorted-batches": (Batches, "by_length", lambda self, indices: indices),
    "joint-projections": (MultiHeadAttention, "project", separate_projections),
    "plain-attention": (attention, "prefers_matmul", lambda device: False),
    "cheap-dropout": (Dropout, "forward", lambda self, x: F.dropout(x, self.p, self.training)),
    "chunked-loss": (trainer, "cross_entropy", unchunked_cross_entropy),
    "fused-adam": (torch.optim, "Adam", UnfusedAdam),
}
# Optimizations that are a variable of nmt.environment: a process must start without it
VARIABLES = {"kept-memory": "GLIBC_TUNABLES", "brief-spinning": "GOMP_SPINCOUNT"}

OPTIMIZATIONS = [*REPLACEMENTS, *VARIABLES]
