"""The one place that knows all families: it builds a model from its configuration."""

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
