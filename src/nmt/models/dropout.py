"""Dropout whose random numbers cost little on a CPU."""

import torch
from torch import Tensor, nn


class Dropout(nn.Module):
    """Dropout (Srivastava et al. 2014): in training, zeroes with probability `p`.

    The rest is scaled by 1 / (1 - p). torch's CPU generator is serial and gives one 64-bit number
    at a time, which makes `torch.nn.functional.dropout` the slowest pass of a small model; here
    each draw serves four elements with 16 bits each, so p is exact to 2^-17.
    """

    def __init__(self, p: float):
        super().__init__()
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Drop out elements of x, of any shape."""
        if not self.training or self.p == 0:
            return x
        if x.device.type != "cpu":
            return nn.functional.dropout(x, self.p)
        return x * keep_mask(x.shape, self.p).to(x.dtype).mul_(1 / (1 - self.p))


def keep_mask(shape: torch.Size, p: float) -> Tensor:
    """Draw a mask, true with probability 1 - p, from torch's global CPU generator."""
    draws = torch.empty((shape.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
    return draws.view(torch.int16)[: shape.numel()].view(shape) >= round(p * 2**16) - 2**15
