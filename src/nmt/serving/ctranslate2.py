"""Export to CTranslate2 (https://opennmt.net/CTranslate2), with its own converter."""

from pathlib import Path

import numpy as np
import torch
from ctranslate2.converters.converter import Converter
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import Activation, LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import (
    TransformerDecoderLayerSpec,
    TransformerDecoderSpec,
    TransformerEncoderLayerSpec,
    TransformerEncoderSpec,
)
from torch import Tensor, nn

from nmt import configuration
from nmt.models.positions import LearnedPositions, NoPositions, sinusoids
from nmt.models.transformer import Transformer
from nmt.models.transformer_layers import DecoderLayer, EncoderLayer
from nmt.serving.folder import TranslationModel
from nmt.serving.formats import MAX_POSITIONS, all_pieces, has_uneven_heads, refuse
from nmt.text.subwords import SubwordPair


def to_ctranslate2(model: TranslationModel, precision: str, output: Path) -> None:
    """Convert with CTranslate2's own interface: https://opennmt.net/CTranslate2/conversion.html.

    Raises UserError for a Transformer that its format cannot carry.
    """
    config = model.experiment.model
    assert isinstance(config, configuration.Transformer)
    assert isinstance(model.model, Transformer)
    features = {
        f"{positions} positions": config.positions == positions
        for positions in ("relative", "rotary", "alibi")
    }
    features["heads whose width is not d_model / heads"] = has_uneven_heads(config)
    refuse("ctranslate2", features)
    converter = TransformerConverter(config, model.model, model.subwords)
    converter.convert(str(output), quantization=precision)


class TransformerConverter(Converter):
    """CTranslate2's converter, which writes what `_load` returns."""

    def __init__(
        self, config: configuration.Transformer, model: Transformer, subwords: SubwordPair
    ):
        self.config = config
        self.model = model
        self.subwords = subwords

    def _load(self) -> TransformerSpec:
        config = self.config
        activation = {"relu": Activation.RELU, "gelu": Activation.GELU}[config.activation]
        spec = TransformerSpec.from_config(
            config.layers, config.heads, pre_norm=config.norm == "pre", activation=activation
        )
        spec.config.add_source_eos = True
        spec.config.layer_norm_epsilon = 1e-5
        spec.register_source_vocabulary(all_pieces(self.subwords.source))
        spec.register_target_vocabulary(all_pieces(self.subwords.target))
        fill_encoder(spec.encoder, self.model)
        fill_decoder(spec.decoder, self.model)
        return spec


def fill_encoder(spec: TransformerEncoderSpec, model: Transformer) -> None:
    """Copy the encoder with its embeddings and positions."""
    spec.scale_embeddings = True
    spec.embeddings[0].weight = to_array(model.source_embedding.weight)
    table = position_table(model.source_positions, model.source_embedding.embedding_dim)
    spec.position_encodings.encodings = to_array(table)
    for layer_spec, layer in zip(spec.layer, model.encoder, strict=True):
        fill_encoder_layer(layer_spec, layer)
    if isinstance(model.encoder_norm, nn.LayerNorm):
        fill_norm(spec.layer_norm, model.encoder_norm)


def fill_decoder(spec: TransformerDecoderSpec, model: Transformer) -> None:
    """Copy the decoder with its embeddings and positions, and the output matrix."""
    spec.scale_embeddings = True
    spec.embeddings.weight = to_array(model.target_embedding.weight)
    table = position_table(model.target_positions, model.target_embedding.embedding_dim)
    spec.position_encodings.encodings = to_array(table)
    for layer_spec, layer in zip(spec.layer, model.decoder, strict=True):
        fill_decoder_layer(layer_spec, layer)
    spec.projection.weight = to_array(model.output.weight)
    if isinstance(model.decoder_norm, nn.LayerNorm):
        fill_norm(spec.layer_norm, model.decoder_norm)


def fill_encoder_layer(
    spec: TransformerEncoderLayerSpec, layer: EncoderLayer | DecoderLayer
) -> None:
    """Copy self-attention and feed-forward network, which layers of the decoder have too."""
    attention = layer.self_attention
    fill_attention(spec.self_attention, [attention.qkv.weight, attention.out.weight])
    fill_norm(spec.self_attention.layer_norm, layer.after_self.norm)
    fill_linear(spec.ffn.linear_0, layer.feed_forward.inner)
    fill_linear(spec.ffn.linear_1, layer.feed_forward.outer)
    fill_norm(spec.ffn.layer_norm, layer.after_feed_forward.norm)


def fill_decoder_layer(spec: TransformerDecoderLayerSpec, layer: DecoderLayer) -> None:
    """Copy a layer of the decoder; in cross-attention queries have a matrix of their own."""
    fill_encoder_layer(spec, layer)
    attention = layer.cross_attention
    query_width, *other_widths = attention.widths
    queries, keys_values = attention.qkv.weight.split([query_width, sum(other_widths)])
    fill_attention(spec.attention, [queries, keys_values, attention.out.weight])
    fill_norm(spec.attention.layer_norm, layer.after_cross.norm)


def fill_attention(spec: MultiHeadAttentionSpec, weights: list[Tensor]) -> None:
    """Copy the matrices of an attention, in CTranslate2's order."""
    for linear_spec, weight in zip(spec.linear, weights, strict=True):
        linear_spec.weight = to_array(weight)


def fill_linear(spec: LinearSpec, linear: nn.Linear) -> None:
    """Copy weight and bias."""
    spec.weight = to_array(linear.weight)
    spec.bias = to_array(linear.bias)


def fill_norm(spec: LayerNormSpec, norm: nn.LayerNorm) -> None:
    """Copy gain and bias."""
    spec.gamma = to_array(norm.weight)
    spec.beta = to_array(norm.bias)


def to_array(tensor: Tensor) -> np.ndarray:
    """Return a copy in float32: the converter quantizes in place."""
    return tensor.detach().float().cpu().clone(memory_format=torch.contiguous_format).numpy()


def position_table(positions: nn.Module, d_model: int) -> Tensor:
    """Return the vectors added to embeddings: (positions, d_model)."""
    if isinstance(positions, LearnedPositions):
        return positions.table
    if isinstance(positions, NoPositions):
        return torch.zeros(MAX_POSITIONS, d_model)
    return sinusoids(MAX_POSITIONS, d_model)
