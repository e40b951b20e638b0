"""Export to CTranslate2 (https://opennmt.net/CTranslate2), with its own converter."""

from pathlib import Path

import numpy as np
import torch
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import Activation, LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import (
    TransformerDecoderLayerSpec,
    TransformerEncoderLayerSpec,
)
from torch import Tensor, nn

from nmt import configuration
from nmt.configuration import LEARNED_POSITIONS
from nmt.errors import UserError
from nmt.models.transformer import Transformer
from nmt.models.transformer_layers import DecoderLayer, EncoderLayer
from nmt.serving.folder import TranslationModel
from nmt.text.subwords import Subwords

LOADING = (
    'Load `source = SentencePieceProcessor("source.model")` and'
    ' `target = SentencePieceProcessor("target.model")`; translate with `results ='
    ' ctranslate2.Translator(".").translate_batch([source.encode(TEXT, out_type=str)],'
    " beam_size={beam}, length_penalty={power:g})` and `target.decode(results[0].hypotheses[0])`."
)


def to_ctranslate2(model: TranslationModel, precision: str, output: Path) -> str:
    """Write the folder `output`, and return the line that says how to load it.

    It gets sentencepiece's source.model and target.model, too. Raises UserError for a model that
    the format cannot carry.
    """
    config = model.experiment.model
    transformer = model.single
    source, target = model.subwords.source, model.subwords.target
    if (
        not isinstance(config, configuration.Transformer)
        or not isinstance(transformer, Transformer)
        or not isinstance(source, Subwords)
        or not isinstance(target, Subwords)
        or config.positions not in ("sinusoidal", "learned", "none")
        or set(transformer.encoder[0].self_attention.widths) != {config.d_model}
        or config.attention_bias
        or config.final_norm
    ):
        raise UserError(
            "CTranslate2 carries Transformers with sentencepiece's subwords, positions that are"
            " added to embeddings or none, and heads of d_model / heads, without attention_bias and"
            " final_norm: this model is another."
        )
    spec = specification(config, transformer)
    spec.register_source_vocabulary(source.pieces(list(range(source.size))))
    spec.register_target_vocabulary(target.pieces(list(range(target.size))))
    spec.validate()
    spec.optimize(quantization=precision)
    output.mkdir()
    spec.save(str(output))
    (output / "source.model").write_bytes(source.processor.serialized_model_proto())
    (output / "target.model").write_bytes(target.processor.serialized_model_proto())
    return LOADING.format(beam=model.experiment.decoding.beam, power=model.length_power)


def specification(config: configuration.Transformer, model: Transformer) -> TransformerSpec:
    """Return the model as CTranslate2 describes models, which has no vocabulary yet.

    By its own interface: https://opennmt.net/CTranslate2/conversion.html.
    """
    activation = {"relu": Activation.RELU, "gelu": Activation.GELU}[config.activation]
    spec = TransformerSpec.from_config(
        config.layers, config.heads, pre_norm=config.norm == "pre", activation=activation
    )
    spec.config.add_source_eos = True
    spec.config.layer_norm_epsilon = 1e-5
    spec.encoder.embeddings[0].weight = to_array(model.source_embedding.weight)
    spec.decoder.embeddings.weight = to_array(model.target_embedding.weight)
    numbers = torch.arange(LEARNED_POSITIONS, device=model.output.weight.device)
    zeros = torch.zeros(len(numbers), config.d_model, device=numbers.device)
    for stack, positions, norm in (
        (spec.encoder, model.source_positions, model.encoder_norm),
        (spec.decoder, model.target_positions, model.decoder_norm),
    ):
        stack.scale_embeddings = True
        stack.position_encodings.encodings = to_array(positions(zeros, numbers, len(numbers)))
        if isinstance(norm, nn.LayerNorm):
            fill(stack.layer_norm, norm)
    for encoder_spec, encoder_layer in zip(spec.encoder.layer, model.encoder, strict=True):
        fill_encoder_layer(encoder_spec, encoder_layer)
    for decoder_spec, decoder_layer in zip(spec.decoder.layer, model.decoder, strict=True):
        fill_decoder_layer(decoder_spec, decoder_layer)
    fill(spec.decoder.projection, model.output)
    return spec


def fill_encoder_layer(
    spec: TransformerEncoderLayerSpec | TransformerDecoderLayerSpec,
    layer: EncoderLayer | DecoderLayer,
) -> None:
    """Copy self-attention and feed-forward network, which layers of the decoder have too."""
    attention = layer.self_attention
    fill_attention(spec.self_attention, [attention.qkv.weight, attention.out.weight])
    fill(spec.self_attention.layer_norm, layer.after_self.norm)
    fill(spec.ffn.linear_0, layer.feed_forward.inner)
    fill(spec.ffn.linear_1, layer.feed_forward.outer)
    fill(spec.ffn.layer_norm, layer.after_feed_forward.norm)


def fill_decoder_layer(spec: TransformerDecoderLayerSpec, layer: DecoderLayer) -> None:
    """Copy a layer of the decoder; in cross-attention queries have a matrix of their own."""
    fill_encoder_layer(spec, layer)
    attention = layer.cross_attention
    query_width, *other_widths = attention.widths
    queries, keys_values = attention.qkv.weight.split([query_width, sum(other_widths)])
    fill_attention(spec.attention, [queries, keys_values, attention.out.weight])
    fill(spec.attention.layer_norm, layer.after_cross.norm)


def fill_attention(spec: MultiHeadAttentionSpec, weights: list[Tensor]) -> None:
    """Copy the matrices of an attention, in CTranslate2's order."""
    for linear_spec, weight in zip(spec.linear, weights, strict=True):
        linear_spec.weight = to_array(weight)


def fill(spec: LinearSpec | LayerNormSpec, module: nn.Linear | nn.LayerNorm) -> None:
    """Copy weight and bias of a linear layer, or gain and bias of a norm."""
    weight, bias = ("gamma", "beta") if isinstance(module, nn.LayerNorm) else ("weight", "bias")
    setattr(spec, weight, to_array(module.weight))
    if module.bias is not None:
        setattr(spec, bias, to_array(module.bias))


def to_array(tensor: Tensor) -> np.ndarray:
    """Return a copy in float32: quantization is in place."""
    return tensor.detach().float().cpu().clone(memory_format=torch.contiguous_format).numpy()
