"""Exports of a model's folder: to CTranslate2, to transformers' Marian, to plain safetensors."""

import json
from pathlib import Path

import numpy as np
import torch
from ctranslate2.converters.converter import Converter
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.attention_spec import MultiHeadAttentionSpec
from ctranslate2.specs.common_spec import Activation, LayerNormSpec, LinearSpec
from ctranslate2.specs.transformer_spec import (
    TransformerDecoderLayerSpec,
    TransformerEncoderLayerSpec,
)
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from nmt.configuration import Transformer
from nmt.errors import UserError
from nmt.models.attention import MultiHeadAttention
from nmt.models.positions import sinusoids
from nmt.models.protocol import BOS, EOS, PAD
from nmt.models.transformer import DecoderLayer, EncoderLayer
from nmt.models.weights import parameters
from nmt.serving.card import length_power
from nmt.serving.folder import TranslationModel
from nmt.text.subwords import SUBWORD_FILES, Subwords

MAX_POSITIONS = 1024  # tokens of a side, where a format has a table of positions


def export(model: TranslationModel, subwords: Path, to: str, precision: str, output: Path) -> None:
    """Write the folder `output`, which must not exist, with the files of the folder `subwords`.

    Raises UserError, by name, for what a format cannot carry.
    """
    family = model.experiment.model.family
    if to != "safetensors" and family != "transformer":
        raise UserError(f"{to} cannot carry a {family}: export it to safetensors.")
    if precision == "int8" and to != "ctranslate2":
        raise UserError(
            f"{to} cannot carry int8 weights: choose another precision, or ctranslate2, which can."
        )
    if to != "safetensors":
        refuse(to, {"word pieces": model.configuration["vocabulary"]["kind"] == "wordpiece"})
    match to:
        case "ctranslate2":
            to_ctranslate2(model, precision, output)
        case "huggingface":
            to_huggingface(model, precision, output)
        case "safetensors":
            to_safetensors(model, precision, output)
    for name in SUBWORD_FILES:
        (output / name).write_bytes((subwords / name).read_bytes())


def refuse(to: str, features: dict[str, bool]) -> None:
    """Raise UserError when one of the features is present: the format cannot carry it."""
    for feature, present in features.items():
        if present:
            raise UserError(f"{to} cannot carry {feature}: export this model to safetensors.")


def has_uneven_heads(config: Transformer) -> bool:
    """Return whether the width of heads is not d_model / heads."""
    widths = (config.heads * config.key_width, config.heads * config.value_width)
    return widths != (config.d_model, config.d_model)


def all_pieces(subwords: Subwords) -> list[str]:
    """Return the whole vocabulary, in the order of ids."""
    return subwords.pieces(list(range(subwords.size)))


# ---------------------------------------------------------------------------------------------
# CTranslate2


def to_ctranslate2(model: TranslationModel, precision: str, output: Path) -> None:
    """Convert with CTranslate2's own interface: https://opennmt.net/CTranslate2/conversion.html.

    Raises UserError for a Transformer that its format cannot carry.
    """
    config = model.experiment.model
    features = {
        f"{positions} positions": config.positions == positions
        for positions in ("relative", "rotary", "alibi")
    }
    features["heads whose width is not d_model / heads"] = has_uneven_heads(config)
    refuse("ctranslate2", features)
    TransformerConverter(model).convert(str(output), quantization=precision)


class TransformerConverter(Converter):
    """CTranslate2's converter, which writes what `_load` returns."""

    def __init__(self, model: TranslationModel):
        self.translation_model = model

    def _load(self) -> TransformerSpec:
        config = self.translation_model.experiment.model
        model = self.translation_model.model
        subwords = self.translation_model.subwords
        activation = {"relu": Activation.RELU, "gelu": Activation.GELU}[config.activation]
        spec = TransformerSpec.from_config(
            config.layers, config.heads, pre_norm=config.norm == "pre", activation=activation
        )
        spec.config.add_source_eos = True
        spec.config.layer_norm_epsilon = 1e-5
        spec.register_source_vocabulary(all_pieces(subwords.source))
        spec.register_target_vocabulary(all_pieces(subwords.target))

        encoder = spec.encoder
        encoder.scale_embeddings = True
        encoder.embeddings[0].weight = to_array(model.source_embedding.weight)
        source_positions = position_table(config, model.source_positions)
        encoder.position_encodings.encodings = to_array(source_positions)
        for layer_spec, layer in zip(encoder.layer, model.encoder, strict=True):
            fill_encoder_layer(layer_spec, layer)

        decoder = spec.decoder
        decoder.scale_embeddings = True
        decoder.embeddings.weight = to_array(model.target_embedding.weight)
        target_positions = position_table(config, model.target_positions)
        decoder.position_encodings.encodings = to_array(target_positions)
        for layer_spec, layer in zip(decoder.layer, model.decoder, strict=True):
            fill_decoder_layer(layer_spec, layer)
        decoder.projection.weight = to_array(model.output.weight)

        if config.norm == "pre":
            fill_norm(encoder.layer_norm, model.encoder_norm)
            fill_norm(decoder.layer_norm, model.decoder_norm)
        return spec


def fill_encoder_layer(spec: TransformerEncoderLayerSpec, layer: EncoderLayer) -> None:
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


def position_table(config: Transformer, positions: nn.Module) -> Tensor:
    """Return the vectors added to embeddings: (positions, d_model)."""
    match config.positions:
        case "learned":
            return positions.table
        case "none":
            return torch.zeros(MAX_POSITIONS, config.d_model)
        case _:
            return sinusoids(MAX_POSITIONS, config.d_model)


# ---------------------------------------------------------------------------------------------
# transformers


def to_huggingface(model: TranslationModel, precision: str, output: Path) -> None:
    """Write what MarianMTModel and MarianTokenizer load.

    Raises UserError for a Transformer that differs from Marian's.
    """
    config = model.experiment.model
    features = {
        "a norm before each sublayer": config.norm == "pre",
        "positions that are not sinusoidal": config.positions != "sinusoidal",
        "embeddings that are not tied": config.tie != "all",
        "heads whose width is not d_model / heads": has_uneven_heads(config),
    }
    refuse("huggingface", features)
    marian = marian_model(model.model, config, model.subwords.target.size)
    marian.generation_config = GenerationConfig.from_model_config(marian.config)
    marian.generation_config.update(
        num_beams=model.experiment.decoding.beam,
        length_penalty=length_power(model.experiment.decoding),
        max_length=MAX_POSITIONS,
        bad_words_ids=[[PAD], [BOS]],
        forced_eos_token_id=None,
    )
    marian.to(getattr(torch, precision)).save_pretrained(output)

    vocabulary = {piece: number for number, piece in enumerate(all_pieces(model.subwords.target))}
    tokenizer_config = {
        "source_lang": model.configuration["source"],
        "target_lang": model.configuration["target"],
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "eos_token": "</s>",
        "separate_vocabs": False,
        "tokenizer_class": "MarianTokenizer",
        "model_max_length": MAX_POSITIONS,
    }
    vocabulary_text = json.dumps(vocabulary, ensure_ascii=False)
    (output / "vocab.json").write_text(vocabulary_text, encoding="utf-8")
    tokenizer_text = json.dumps(tokenizer_config, indent=2)
    (output / "tokenizer_config.json").write_text(tokenizer_text, encoding="utf-8")
    source_model = model.subwords.source.processor.serialized_model_proto()
    (output / "source.spm").write_bytes(source_model)
    target_model = model.subwords.target.processor.serialized_model_proto()
    (output / "target.spm").write_bytes(target_model)


def marian_model(model: nn.Module, config: Transformer, vocabulary_size: int) -> MarianMTModel:
    """Return a Marian model with the weights of ours.

    In its positions all sines come before all cosines, so dimensions change places.
    """
    marian = MarianMTModel(
        MarianConfig(
            encoder_layers=config.layers,
            encoder_attention_heads=config.heads,
            encoder_ffn_dim=config.d_ff,
            decoder_layers=config.layers,
            decoder_attention_heads=config.heads,
            decoder_ffn_dim=config.d_ff,
            vocab_size=vocabulary_size,
            d_model=config.d_model,
            dropout=config.dropout,
            activation_function=config.activation,
            scale_embedding=True,
            max_position_embeddings=MAX_POSITIONS,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
        )
    )
    marian.to(model.output.weight.dtype)
    order = [*range(0, config.d_model, 2), *range(1, config.d_model, 2)]
    with torch.no_grad():
        for name, parameter in marian.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
        marian.model.shared.weight.copy_(model.target_embedding.weight[:, order])
        for marian_layer, layer in zip(marian.model.encoder.layers, model.encoder, strict=True):
            copy_encoder_layer(marian_layer, layer, order)
        for marian_layer, layer in zip(marian.model.decoder.layers, model.decoder, strict=True):
            copy_decoder_layer(marian_layer, layer, order)
    return marian.eval()


def copy_encoder_layer(marian_layer: nn.Module, layer: EncoderLayer, order: list[int]) -> None:
    """Copy self-attention and feed-forward network, which layers of the decoder have too."""
    copy_attention(marian_layer.self_attn, layer.self_attention, order)
    copy_norm(marian_layer.self_attn_layer_norm, layer.after_self.norm, order)
    marian_layer.fc1.weight.copy_(layer.feed_forward.inner.weight[:, order])
    marian_layer.fc1.bias.copy_(layer.feed_forward.inner.bias)
    marian_layer.fc2.weight.copy_(layer.feed_forward.outer.weight[order])
    marian_layer.fc2.bias.copy_(layer.feed_forward.outer.bias[order])
    copy_norm(marian_layer.final_layer_norm, layer.after_feed_forward.norm, order)


def copy_decoder_layer(marian_layer: nn.Module, layer: DecoderLayer, order: list[int]) -> None:
    """Copy a layer of the decoder."""
    copy_encoder_layer(marian_layer, layer, order)
    copy_attention(marian_layer.encoder_attn, layer.cross_attention, order)
    copy_norm(marian_layer.encoder_attn_layer_norm, layer.after_cross.norm, order)


def copy_attention(
    marian_attention: nn.Module, attention: MultiHeadAttention, order: list[int]
) -> None:
    """Copy the projections; Marian's biases stay zero."""
    queries, keys, values = attention.qkv.weight.split(attention.widths)
    marian_attention.q_proj.weight.copy_(queries[:, order])
    marian_attention.k_proj.weight.copy_(keys[:, order])
    marian_attention.v_proj.weight.copy_(values[:, order])
    marian_attention.out_proj.weight.copy_(attention.out.weight[order])


def copy_norm(marian_norm: nn.LayerNorm, norm: nn.LayerNorm, order: list[int]) -> None:
    """Copy gain and bias."""
    marian_norm.weight.copy_(norm.weight[order])
    marian_norm.bias.copy_(norm.bias[order])


# ----------------------------------------------------------------------------------------------
# safetensors


def to_safetensors(model: TranslationModel, precision: str, output: Path) -> None:
    """Write parameters by our names, a tied one once, and the configuration as metadata.

    This carries every family.
    """
    output.mkdir()
    dtype = getattr(torch, precision)
    tensors = {
        name: tensor.to(dtype).contiguous() for name, tensor in parameters(model.model).items()
    }
    metadata = {"configuration": json.dumps(model.configuration)}
    save_file(tensors, output / "model.safetensors", metadata)
