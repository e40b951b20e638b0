"""From a configuration to a model: the one place that knows the families."""

from nmt import configuration
from nmt.models.protocol import Model
from nmt.models.recurrent import RNNSearch, Seq2Seq
from nmt.models.transformer import Transformer

FAMILIES = {
    configuration.Transformer: Transformer,
    configuration.RNNSearch: RNNSearch,
    configuration.Seq2Seq: Seq2Seq,
}


def build(config: configuration.Model, vocabulary_size: int) -> Model:
    """A model with fresh parameters from torch's global generator."""
    return FAMILIES[type(config)](config, vocabulary_size)
