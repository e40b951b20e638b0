"""Export to transformers: our Transformer as a Marian model, whose architecture is the same."""

from pathlib import Path

import torch
from transformers import GenerationConfig, MarianConfig, MarianMTModel
from transformers.models.marian.modeling_marian import (
    MarianAttention,
)

from nmt import configuration
from nmt.errors import UserError
from nmt.files import write_json
from nmt.models.attention import MultiHeadAttention
from nmt.models.protocol import BOS, EOS, PAD
from nmt.models.transformer import Transformer
from nmt.models.transformer_layers import DecoderLayer
from nmt.serving.folder import TranslationModel
from nmt.text.subwords import Subwords

MAX_POSITIONS = 1024  # tokens of a side
# Parts of a layer whose outputs change places: Marian's names and ours
REORDERED = {
    "self_attn_layer_norm": "after_self.norm",
    "encoder_attn_layer_norm": "after_cross.norm",
    "fc2": "feed_forward.outer",
    "final_layer_norm": "after_feed_forward.norm",
}
LOADING = (
    'Load `tokenizer = MarianTokenizer.from_pretrained(".")`; translate with `outputs ='
    ' MarianMTModel.from_pretrained(".").generate(**tokenizer(TEXT, return_tensors="pt"))` and'
    " `tokenizer.decode(outputs[0], skip_special_tokens=True)`."
)


def to_huggingface(model: TranslationModel, precision: str, output: Path) -> str:
    """Write what MarianMTModel and MarianTokenizer load, and return the line that says how.

    Raises UserError for a model that differs from Marian's.
    """
    config = model.experiment.model
    transformer = model.single
    source, target = model.subwords.source, model.subwords.target
    if (
        not isinstance(config, configuration.Transformer)
        or not isinstance(transformer, Transformer)
        or not isinstance(source, Subwords)
        or not isinstance(target, Subwords)
        or (config.norm, config.positions, config.tie) != ("post", "sinusoidal", "all")
        or set(transformer.encoder[0].self_attention.widths) != {config.d_model}
        or config.attention_bias
        or config.final_norm
        or precision == "int8"
    ):
        raise UserError(
            "transformers' Marian carries Transformers with sentencepiece's subwords, norms behind"
            " sublayers, sinusoidal positions, tied embeddings, heads of d_model / heads, neither"
            " attention_bias nor final_norm, and not in int8: this model is another."
        )
    marian = marian_model(transformer, config, target.size)
    marian.generation_config = GenerationConfig.from_model_config(marian.config)
    marian.generation_config.update(
        num_beams=model.experiment.decoding.beam,
        length_penalty=model.length_power,
        max_length=MAX_POSITIONS,
        bad_words_ids=[[PAD], [BOS]],
        forced_eos_token_id=None,
    )
    marian.to(getattr(torch, precision)).save_pretrained(output)
    write_tokenizer(source, target, model, output)
    return LOADING


def write_tokenizer(
    source: Subwords, target: Subwords, model: TranslationModel, output: Path
) -> None:
    """Write the vocabulary and settings of a MarianTokenizer, and both sentencepiece models."""
    pieces = target.pieces(list(range(target.size)))
    tokenizer_config = {
        "source_lang": model.configuration.source,
        "target_lang": model.configuration.target,
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "eos_token": "</s>",
        "separate_vocabs": False,
        "tokenizer_class": "MarianTokenizer",
        "model_max_length": MAX_POSITIONS,
    }
    write_json(output / "vocab.json", {piece: number for number, piece in enumerate(pieces)})
    write_json(output / "tokenizer_config.json", tokenizer_config)
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
        marian_layers = (*marian.model.encoder.layers, *marian.model.decoder.layers)
        layers = (*model.encoder, *model.decoder)
        for marian_layer, layer in zip(marian_layers, layers, strict=True):
            copy_attention(marian_layer.self_attn, layer.self_attention, order)
            if isinstance(layer, DecoderLayer):
                copy_attention(marian_layer.encoder_attn, layer.cross_attention, order)
            marian_layer.fc1.weight.copy_(layer.feed_forward.inner.weight[:, order])
            marian_layer.fc1.bias.copy_(layer.feed_forward.inner.bias)
            for name, ours in REORDERED.items():
                if hasattr(marian_layer, name):
                    part = layer.get_submodule(ours)
                    getattr(marian_layer, name).weight.copy_(part.weight[order])
                    getattr(marian_layer, name).bias.copy_(part.bias[order])
    return marian.eval()


def copy_attention(
    marian_attention: MarianAttention, attention: MultiHeadAttention, order: list[int]
) -> None:
    """Copy the projections; Marian's biases stay zero."""
    queries, keys, values = attention.qkv.weight.split(attention.widths)
    marian_attention.q_proj.weight.copy_(queries[:, order])
    marian_attention.k_proj.weight.copy_(keys[:, order])
    marian_attention.v_proj.weight.copy_(values[:, order])
    marian_attention.out_proj.weight.copy_(attention.out.weight[order])
