"""The measures that make training fast, and what torch offers in their place, to see what each is
worth.
"""

from collections.abc import Iterable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt.data.batches import Batches
from nmt.models import attention
from nmt.models.attention import MultiHeadAttention
from nmt.models.dropout import Dropout
from nmt.models.protocol import PAD
from nmt.training import trainer


def apart(self: MultiHeadAttention, x: Tensor, start: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    q, k, v = (self.split_heads(F.linear(x, weight)) for weight in self.qkv.weight.split(self.widths))
    return self.position_bias.rotate(q, start), self.position_bias.rotate(k, start), v


def whole_loss(
    hidden: Tensor, output: nn.Linear, targets: Tensor, smoothing: float
) -> tuple[Tensor, Tensor]:
    logits, targets = output(hidden.flatten(0, 1)), targets.flatten()
    loss = F.cross_entropy(
        logits, targets, ignore_index=PAD, label_smoothing=smoothing, reduction="sum"
    )
    with torch.no_grad():
        return loss, F.cross_entropy(logits, targets, ignore_index=PAD, reduction="sum")


class PlainAdam(torch.optim.Adam):
    def __init__(self, parameters: Iterable[Tensor], fused: bool, **settings: object):
        super().__init__(parameters, **settings)

    def step(self, closure: None = None) -> None:
        self.found_inf = None  # only a fused one looks at it
        super().step(closure)


# Name of a measure: where it is, its name there, and what takes its place
REPLACEMENTS = {
    "sorted-batches": (Batches, "by_length", lambda self, numbers: numbers),
    "joint-projections": (MultiHeadAttention, "project", apart),
    "plain-attention": (attention, "prefers_matmul", lambda device: False),
    "cheap-dropout": (Dropout, "forward", lambda self, x: F.dropout(x, self.p, self.training)),
    "chunked-loss": (trainer, "cross_entropy", whole_loss),
    "fused-adam": (torch.optim, "Adam", PlainAdam),
}
# Those that are a variable of nmt.environment, and need a process without it
CLEARED = {"kept-memory": "GLIBC_TUNABLES", "brief-spinning": "GOMP_SPINCOUNT"}

MEASURES = [*REPLACEMENTS, *CLEARED]
