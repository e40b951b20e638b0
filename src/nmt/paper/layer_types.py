"""The layers of AIAYN's Table 1: what it prints of each, and the modules of this project."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from nmt import configuration
from nmt.models.attention import apply_self_attention, attention_weights, self_attention
from nmt.models.bytenet import Block
from nmt.models.convs2s import GatedConvolution
from nmt.models.recurrent import lstm_step, run_packed

# B sentences, n positions, D width, H heads, d width of a head, r keys of a query

HEADS = 4
KERNEL = 3
NEIGHBORS = 33  # r, the query's own position among them


@dataclass(frozen=True)
class LayerType:
    """A layer, what AIAYN's Table 1 prints about it, and a module of this project.

    exponents: of n and d in its complexity; None where the table does not print the layer.
    build: makes the layer (B, n, D) -> (B, n, D) for a width D.
    stack: makes layer number i, from 0, of several on top of each other; None: they are all alike.
    """

    title: str
    complexity: str
    sequential: str
    path: str
    exponents: tuple[int, int] | None
    build: Callable[[int], nn.Module]
    stack: Callable[[int, int], nn.Module] | None = None


class SelfAttentionLayer(nn.Module):
    """Multi-head self-attention with its four projections (AIAYN section 3.2.2)."""

    def __init__(self, width: int):
        super().__init__()
        self.attention = self_attention(
            configuration.Transformer(
                layers=1, d_model=width, d_ff=width, heads=HEADS, dropout=0, positions="none"
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        """Attend from each position to all: (B, n, D) -> (B, n, D)."""
        return apply_self_attention(self.attention, x, None)


class ScaledDotProduct(nn.Module):
    """Self-attention without projections, what AIAYN's Table 1 counts: x is queries, keys, values.

    Restricted to the `neighbors` positions around each, it makes n r products instead of n n
    (AIAYN section 4).
    """

    def __init__(self, neighbors: int | None = None):
        super().__init__()
        self.neighbors = neighbors

    def forward(self, x: Tensor) -> Tensor:
        """Attend from each position: (B, n, D) -> (B, n, D)."""
        heads = x.unflatten(-1, (HEADS, -1)).transpose(1, 2)  # (B, H, n, d)
        if self.neighbors is None:
            context = attention_weights(heads, heads, None) @ heads
        else:
            context = self.restricted(heads, self.neighbors)
        return context.transpose(1, 2).flatten(2)

    def restricted(self, x: Tensor, neighbors: int) -> Tensor:
        """Attend from each position to `neighbors` around it: (B, H, n, d) -> (B, H, n, d)."""
        before = neighbors // 2
        after = neighbors - 1 - before
        windows = F.pad(x, (0, 0, before, after)).unfold(2, neighbors, 1)  # (B, H, n, d, r)
        position = torch.arange(x.size(2), device=x.device)[:, None]
        key = position + torch.arange(-before, after + 1, device=x.device)  # (n, r)
        outside = (key < 0) | (key >= x.size(2))
        mask = torch.zeros(key.shape, dtype=x.dtype, device=x.device)
        mask = mask.masked_fill_(outside, -math.inf)[:, None]  # (n, 1, r)
        keys = windows.mT  # (B, H, n, r, d)
        return (attention_weights(x[..., None, :], keys, mask) @ keys)[..., 0, :]


class RecurrentLayer(nn.Module):
    """An LSTM that reads forward, as GNMT's layers do."""

    def __init__(self, width: int):
        super().__init__()
        self.lstm = nn.LSTM(width, width, batch_first=True)

    def forward(self, x: Tensor) -> Tensor:
        """Read all positions: (B, n, D) -> (B, n, D)."""
        states, _ = run_packed(self.lstm, x, torch.full((len(x),), x.size(1)))
        return states

    def steps(self, x: Tensor) -> list[Tensor]:
        """Return the output (B, D) of each step, as a decoder makes them one by one."""
        zeros = x.new_zeros(len(x), self.lstm.hidden_size)
        layers = [(zeros, zeros)]
        outputs = []
        for x_of_step in x.unbind(1):
            layers = lstm_step(self.lstm, x_of_step, layers, nn.Identity())
            outputs.append(layers[0][0])
        return outputs


def dilated(width: int, number: int) -> nn.Module:
    """Return ByteNet's block number i, from 0: dilations double (its section 3.2)."""
    return Block(width // 2, 2**number, dropout=0, causal=False)


LAYER_TYPES = {
    "self-attention": LayerType(
        "Self-attention", "O(n²·d)", "O(1)", "O(1)", (2, 1), lambda width: ScaledDotProduct()
    ),
    "recurrent": LayerType("Recurrent (LSTM)", "O(n·d²)", "O(n)", "O(n)", (1, 2), RecurrentLayer),
    "convolutional": LayerType(
        "Convolutional, dilated (ByteNet)",
        "O(k·n·d²)",
        "O(1)",
        "O(log_k(n))",
        (1, 2),
        lambda width: dilated(width, 0),
        dilated,
    ),
    "convolutional-contiguous": LayerType(
        "Convolutional, contiguous (ConvS2S)",
        "O(k·n·d²)",
        "O(1)",
        "O(n/k)",
        (1, 2),
        lambda width: GatedConvolution(width, width, KERNEL, dropout=0, causal=False),
    ),
    "self-attention-restricted": LayerType(
        "Self-attention (restricted)",
        "O(r·n·d)",
        "O(1)",
        "O(n/r)",
        (1, 1),
        lambda width: ScaledDotProduct(NEIGHBORS),
    ),
    "self-attention-projected": LayerType(
        "Self-attention with its projections", "", "", "", None, SelfAttentionLayer
    ),
}
