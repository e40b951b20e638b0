"""The one place that knows all families: it builds a model from its configuration."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from nmt import configuration
from nmt.models.bytenet import ByteNet
from nmt.models.convs2s import ConvS2S
from nmt.models.decoder_only import DecoderOnly
from nmt.models.gnmt import GNMT
from nmt.models.protocol import Model
from nmt.models.rnnsearch import RNNSearch
from nmt.models.seq2seq import Seq2Seq
from nmt.models.transformer import Transformer

FAMILIES = {
    "transformer": Transformer,
    "decoder-only": DecoderOnly,
    "seq2seq": Seq2Seq,
    "rnnsearch": RNNSearch,
    "gnmt": GNMT,
    "convs2s": ConvS2S,
    "bytenet": ByteNet,
}


def build(config: configuration.Model, source_size: int, target_size: int) -> Model:
    """Return a model for vocabularies of these sizes.

    Its parameters are drawn from torch's global generator.
    """
    return FAMILIES[config.family](config, source_size, target_size)


def build_uninitialized(
    config: configuration.Model, source_size: int, target_size: int, device: torch.device
) -> Model:
    """Return a model whose parameters have any values, for those that will be loaded.

    On the meta device they take no memory.
    """
    with device, Uninitialized():
        return build(config, source_size, target_size)


class Uninitialized(TorchFunctionMode):
    """Draws no random values for parameters, so that their memory is not even taken.

    An operating system gives memory when it is first written to. For random values on the meta
    device torch would import its compiler, which takes seconds.
    """

    RANDOM = (nn.init.normal_, nn.init.uniform_, Tensor.normal_, Tensor.uniform_)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Call `func`, unless it would draw values: then return the tensor as it is."""
        if func in self.RANDOM:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **(kwargs or {}))
