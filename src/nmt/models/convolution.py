"""Convolution over positions that stand before the channels, as in all other layers."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Convolution(nn.Conv1d):
    """A convolution of states (B, T + reach, C) to (B, T, C'), reach = (kernel - 1) * dilation.

    It is one matrix product with the states that each position sees, side by side: on a CPU that
    takes less time than torch's, which has channels before positions.
    """

    def forward(self, x: Tensor) -> Tensor:
        """Convolve: (B, T + reach, C) -> (B, T, C')."""
        (kernel,), (dilation,) = self.kernel_size, self.dilation
        length = x.size(1) - (kernel - 1) * dilation
        seen = [x[:, i * dilation : i * dilation + length] for i in range(kernel)]
        return F.linear(torch.cat(seen, -1), self.weight.mT.flatten(1), self.bias)
