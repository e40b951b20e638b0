"""Source sentences as models take them, and how they come to a device."""

from dataclasses import dataclass

import torch
from torch import Tensor

from nmt.text.subwords import PAD

# B sentences, S source length


@dataclass(frozen=True)
class Source:
    """Source sentences that go through a model together, each with EOS, padded with PAD.

    tokens: (B, S). lengths: (B,), EOS counted, on the CPU wherever the tokens are: what packs
    sentences by their lengths would otherwise wait until a GPU has computed them.
    """

    tokens: Tensor
    lengths: Tensor

    @property
    def device(self) -> torch.device:
        """Where the tokens are."""
        return self.tokens.device

    @property
    def padding(self) -> Tensor:
        """Where there is padding: (B, S)."""
        return self.tokens == PAD

    @property
    def is_padded(self) -> bool:
        """Whether there is padding at all; the device need not be asked."""
        return int(self.lengths.min()) < self.tokens.size(1)

    def to(self, device: torch.device) -> "Source":
        """Return the sentences on a device; see `copy_to`."""
        return Source(copy_to(self.tokens, device), self.lengths)


def copy_to(tensor: Tensor, device: torch.device) -> Tensor:
    """Return a tensor of the CPU on a device; a copy to a GPU makes neither wait for the other."""
    if device.type == "cuda":
        tensor = tensor.pin_memory()
    return tensor.to(device, non_blocking=True)
