"""Export to transformers: our Transformer as a Marian model, whose architecture is the same."""

import json
from pathlib import Path

import torch
from torch import nn
from transformers import GenerationConfig, MarianConfig, MarianMTModel
from transformers.models.marian.modeling_marian import (
    MarianAttention,
    MarianDecoderLayer,
    MarianEncoderLayer,
)

from nmt import configuration
from nmt.models.attention import MultiHeadAttention
from nmt.models.protocol import BOS, EOS, PAD
from nmt.models.transformer import Transformer
from nmt.models.transformer_layers import DecoderLayer, EncoderLayer
from nmt.serving.card import length_power
from nmt.serving.folder import TranslationModel
from nmt.serving.formats import MAX_POSITIONS, all_pieces, has_uneven_heads, refuse
from nmt.text.subwords import Subwords


def to_huggingface(model: TranslationModel, precision: str, output: Path) -> None:
    """Write what MarianMTModel and MarianTokenizer load.

    Raises UserError for a Transformer that differs from Marian's.
    """
    config = model.experiment.model
    assert isinstance(config, configuration.Transformer)
    assert isinstance(model.model, Transformer)
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

    write_tokenizer(model, output)


def write_tokenizer(model: TranslationModel, output: Path) -> None:
    """Write the vocabulary and settings of a MarianTokenizer, and both sentencepiece models."""
    source = model.subwords.source
    target = model.subwords.target
    assert isinstance(source, Subwords)  # word-pieces are refused
    assert isinstance(target, Subwords)
    vocabulary = {piece: number for number, piece in enumerate(all_pieces(target))}
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
    (output / "source.spm").write_bytes(source.processor.serialized_model_proto())
    (output / "target.spm").write_bytes(target.processor.serialized_model_proto())


def marian_config(
    config: configuration.Transformer, vocabulary_size: int, max_positions: int
) -> MarianConfig:
    """Return the configuration of a Marian model with these sizes, and with our symbols."""
    return MarianConfig(
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
        max_position_embeddings=max_positions,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
    )


def marian_model(
    model: Transformer, config: configuration.Transformer, vocabulary_size: int
) -> MarianMTModel:
    """Return a Marian model with the weights of ours.

    In its positions all sines come before all cosines, so dimensions change places.
    """
    marian = MarianMTModel(marian_config(config, vocabulary_size, MAX_POSITIONS))
    marian.to(model.output.weight.dtype)
    order = [*range(0, config.d_model, 2), *range(1, config.d_model, 2)]
    with torch.no_grad():
        for name, parameter in marian.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
        marian.model.shared.weight.copy_(model.target_embedding.weight[:, order])
        for marian_layer, layer in zip(marian.model.encoder.layers, model.encoder, strict=True):
            copy_encoder_layer(marian_layer, layer, order)
        decoder_layers = zip(marian.model.decoder.layers, model.decoder, strict=True)
        for marian_decoder_layer, decoder_layer in decoder_layers:
            copy_decoder_layer(marian_decoder_layer, decoder_layer, order)
    return marian.eval()


def copy_encoder_layer(
    marian_layer: MarianEncoderLayer | MarianDecoderLayer,
    layer: EncoderLayer | DecoderLayer,
    order: list[int],
) -> None:
    """Copy self-attention and feed-forward network, which layers of the decoder have too."""
    copy_attention(marian_layer.self_attn, layer.self_attention, order)
    copy_norm(marian_layer.self_attn_layer_norm, layer.after_self.norm, order)
    marian_layer.fc1.weight.copy_(layer.feed_forward.inner.weight[:, order])
    marian_layer.fc1.bias.copy_(layer.feed_forward.inner.bias)
    marian_layer.fc2.weight.copy_(layer.feed_forward.outer.weight[order])
    marian_layer.fc2.bias.copy_(layer.feed_forward.outer.bias[order])
    copy_norm(marian_layer.final_layer_norm, layer.after_feed_forward.norm, order)


def copy_decoder_layer(
    marian_layer: MarianDecoderLayer, layer: DecoderLayer, order: list[int]
) -> None:
    """Copy a layer of the decoder."""
    copy_encoder_layer(marian_layer, layer, order)
    copy_attention(marian_layer.encoder_attn, layer.cross_attention, order)
    copy_norm(marian_layer.encoder_attn_layer_norm, layer.after_cross.norm, order)


def copy_attention(
    marian_attention: MarianAttention, attention: MultiHeadAttention, order: list[int]
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
