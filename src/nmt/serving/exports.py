"""A model's folder in the formats of other libraries: CTranslate2, transformers' Marian, plain
safetensors.
"""

import json
from pathlib import Path

import torch
from ctranslate2.converters.converter import Converter
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation, LinearSpec
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from nmt.configuration import Transformer
from nmt.errors import UserError
from nmt.models.attention import MultiHeadAttention
from nmt.models.positions import LearnedPositions, NoPositions, sinusoids
from nmt.models.protocol import BOS, EOS, PAD
from nmt.models.weights import parameters
from nmt.serving.card import length_power
from nmt.serving.folder import TranslationModel
from nmt.text.subwords import SUBWORD_FILES, Subwords

LONGEST = 1024  # tokens of a side, where a format has a table of positions

# V vocabulary, D d_model


def export(model: TranslationModel, subwords: Path, to: str, precision: str, output: Path) -> None:
    """Writes the folder `output`, which must not be there yet, with the subwords of the folder
    `subwords`.

    Raises UserError, by name, for what a format cannot carry.
    """
    config = model.experiment.model
    if to != "safetensors" and not isinstance(config, Transformer):
        raise UserError(f"{to} cannot carry a {config.family}: export it to safetensors.")
    if precision == "int8" and to != "ctranslate2":
        raise UserError(
            f"{to} cannot carry int8 weights: choose another precision, or ctranslate2, which can."
        )
    if to != "safetensors":
        refuse(to, word_pieces=model.configuration["vocabulary"]["kind"] == "wordpiece")
    match to:
        case "ctranslate2":
            to_ctranslate2(model, precision, output)
        case "huggingface":
            to_huggingface(model, precision, output)
        case "safetensors":
            to_safetensors(model, precision, output)
    for name in SUBWORD_FILES:
        (output / name).write_bytes((subwords / name).read_bytes())


def refuse(to: str, **found: bool) -> None:
    for what, present in found.items():
        if present:
            raise UserError(
                f"{to} cannot carry {what.replace('_', ' ')}: export this model to safetensors."
            )


def heads_are_even(config: Transformer) -> bool:
    return config.heads * config.key_width == config.heads * config.value_width == config.d_model


def pieces(subwords: Subwords) -> list[str]:
    return subwords.pieces(list(range(subwords.size)))


# ---------------------------------------------------------------------------------------------
# CTranslate2


def to_ctranslate2(model: TranslationModel, precision: str, output: Path) -> None:
    """By its converter's interface: https://opennmt.net/CTranslate2/conversion.html"""
    config = model.experiment.model
    relations = {
        f"{name}_positions": config.positions == name for name in ("relative", "rotary", "alibi")
    }
    refuse(
        "ctranslate2",
        **relations,
        heads_whose_width_is_not_d_model_by_heads=not heads_are_even(config),
    )
    Specified(model).convert(str(output), quantization=precision)


class Specified(Converter):
    def __init__(self, model: TranslationModel):
        self.translator = model

    def _load(self) -> TransformerSpec:
        config, model = self.translator.experiment.model, self.translator.model
        activation = {"relu": Activation.RELU, "gelu": Activation.GELU}[config.activation]
        spec = TransformerSpec.from_config(
            config.layers, config.heads, pre_norm=config.norm == "pre", activation=activation
        )
        spec.config.add_source_eos = True
        spec.config.layer_norm_epsilon = 1e-5
        spec.register_source_vocabulary(pieces(self.translator.subwords.source))
        spec.register_target_vocabulary(pieces(self.translator.subwords.target))
        sides = (
            (
                spec.encoder,
                spec.encoder.embeddings[0],
                model.source_embedding,
                model.source_positions,
                model.encoder,
            ),
            (
                spec.decoder,
                spec.decoder.embeddings,
                model.target_embedding,
                model.target_positions,
                model.decoder,
            ),
        )
        for side, table, embedding, places, layers in sides:
            table.weight = array(embedding.weight)
            side.scale_embeddings = True
            side.position_encodings.encodings = array(encodings(places, config.d_model))
            for their, our in zip(side.layer, layers, strict=True):
                fill_layer(their, our)
        if config.norm == "pre":
            fill_norm(spec.encoder.layer_norm, model.encoder_norm)
            fill_norm(spec.decoder.layer_norm, model.decoder_norm)
        spec.decoder.projection.weight = array(model.output.weight)
        return spec


def fill_layer(their: object, our: nn.Module) -> None:
    fill(
        their.self_attention.linear, [our.self_attention.qkv.weight, our.self_attention.out.weight]
    )
    fill_norm(their.self_attention.layer_norm, our.after_self.norm)
    if hasattr(our, "cross_attention"):
        cross = our.cross_attention
        fill(
            their.attention.linear,
            [*cross.qkv.weight.split([cross.widths[0], sum(cross.widths[1:])]), cross.out.weight],
        )
        fill_norm(their.attention.layer_norm, our.after_cross.norm)
    for linear, own in (
        (their.ffn.linear_0, our.feed_forward.inner),
        (their.ffn.linear_1, our.feed_forward.outer),
    ):
        linear.weight, linear.bias = array(own.weight), array(own.bias)
    fill_norm(their.ffn.layer_norm, our.after_feed_forward.norm)


def fill(linears: list[LinearSpec], weights: list[Tensor]) -> None:
    for linear, weight in zip(linears, weights, strict=True):
        linear.weight = array(weight)


def fill_norm(their: object, our: nn.LayerNorm) -> None:
    their.gamma, their.beta = array(our.weight), array(our.bias)


def array(tensor: Tensor):
    """A copy, for the converter quantizes in place."""
    return tensor.detach().float().cpu().clone(memory_format=torch.contiguous_format).numpy()


def encodings(places: nn.Module, d_model: int) -> Tensor:
    match places:
        case LearnedPositions():
            return places.table
        case NoPositions():
            return torch.zeros(LONGEST, d_model)
        case _:
            return sinusoids(LONGEST, d_model)


# ---------------------------------------------------------------------------------------------
# transformers


def to_huggingface(model: TranslationModel, precision: str, output: Path) -> None:
    config = model.experiment.model
    refuse(
        "huggingface",
        a_norm_before_each_sublayer=config.norm == "pre",
        positions_that_are_not_sinusoidal=config.positions != "sinusoidal",
        embeddings_that_are_not_tied=config.tie != "all",
        heads_whose_width_is_not_d_model_by_heads=not heads_are_even(config),
    )
    theirs = marian(model.model, config, model.subwords.target.size)
    theirs.generation_config = GenerationConfig.from_model_config(theirs.config)
    theirs.generation_config.update(
        num_beams=model.experiment.decoding.beam,
        length_penalty=length_power(model.experiment.decoding),
        max_length=LONGEST,
        bad_words_ids=[[PAD], [BOS]],
        forced_eos_token_id=None,
    )
    theirs.to(getattr(torch, precision)).save_pretrained(output)
    vocabulary = {piece: number for number, piece in enumerate(pieces(model.subwords.target))}
    settings = {
        "source_lang": model.configuration["source"],
        "target_lang": model.configuration["target"],
    }
    settings |= {
        "pad_token": "<pad>",
        "unk_token": "<unk>",
        "eos_token": "</s>",
        "separate_vocabs": False,
    }
    settings |= {"tokenizer_class": "MarianTokenizer", "model_max_length": LONGEST}
    (output / "vocab.json").write_text(json.dumps(vocabulary, ensure_ascii=False), encoding="utf-8")
    (output / "tokenizer_config.json").write_text(json.dumps(settings, indent=2), encoding="utf-8")
    for name, own in zip(
        ("source.spm", "target.spm"), (model.subwords.source, model.subwords.target), strict=True
    ):
        (output / name).write_bytes(own.processor.serialized_model_proto())


def marian(ours: nn.Module, config: Transformer, size: int) -> MarianMTModel:
    """Their model with our weights. All its sines come before all cosines, so dimensions change
    places.
    """
    sides = {"layers": config.layers, "attention_heads": config.heads, "ffn_dim": config.d_ff}
    named = {
        f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sides.items()
    }
    theirs = MarianMTModel(
        MarianConfig(
            **named,
            vocab_size=size,
            d_model=config.d_model,
            dropout=config.dropout,
            activation_function=config.activation,
            scale_embedding=True,
            max_position_embeddings=LONGEST,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
            decoder_start_token_id=BOS,
            forced_eos_token_id=None,
        )
    )
    theirs.to(ours.output.weight.dtype)
    order = [*range(0, config.d_model, 2), *range(1, config.d_model, 2)]
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            if name.endswith("bias"):
                parameter.zero_()
        theirs.model.shared.weight.copy_(ours.target_embedding.weight[:, order])
        for stack, own in (
            (theirs.model.encoder, ours.encoder),
            (theirs.model.decoder, ours.decoder),
        ):
            for their, our in zip(stack.layers, own, strict=True):
                copy_layer(their, our, order)
    return theirs.eval()


def copy_layer(their: nn.Module, our: nn.Module, order: list[int]) -> None:
    copy_attention(their.self_attn, our.self_attention, order)
    norms = [
        (their.self_attn_layer_norm, our.after_self.norm),
        (their.final_layer_norm, our.after_feed_forward.norm),
    ]
    if hasattr(our, "cross_attention"):
        copy_attention(their.encoder_attn, our.cross_attention, order)
        norms.append((their.encoder_attn_layer_norm, our.after_cross.norm))
    for norm, own in norms:
        norm.weight.copy_(own.weight[order])
        norm.bias.copy_(own.bias[order])
    their.fc1.weight.copy_(our.feed_forward.inner.weight[:, order])
    their.fc1.bias.copy_(our.feed_forward.inner.bias)
    their.fc2.weight.copy_(our.feed_forward.outer.weight[order])
    their.fc2.bias.copy_(our.feed_forward.outer.bias[order])


def copy_attention(their: nn.Module, our: MultiHeadAttention, order: list[int]) -> None:
    for projection, weight in zip(
        (their.q_proj, their.k_proj, their.v_proj), our.qkv.weight.split(our.widths), strict=True
    ):
        projection.weight.copy_(weight[:, order])
    their.out_proj.weight.copy_(our.out.weight[order])


# ----------------------------------------------------------------------------------------------
# safetensors


def to_safetensors(model: TranslationModel, precision: str, output: Path) -> None:
    """Any family: parameters by our names, a tied one once, and the configuration as metadata."""
    output.mkdir()
    dtype = getattr(torch, precision)
    tensors = {
        name: tensor.to(dtype).contiguous() for name, tensor in parameters(model.model).items()
    }
    save_file(
        tensors, output / "model.safetensors", {"configuration": json.dumps(model.configuration)}
    )
