"""Export to transformers: our Transformer as a Marian model, whose architecture is the same."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor
from transformers import GenerationConfig, MarianConfig, MarianMTModel

from nmt import configuration
from nmt.errors import UserError
from nmt.files import write_json
from nmt.models.protocol import BOS, EOS, PAD
from nmt.models.transformer import Transformer
from nmt.models.weights import parameters
from nmt.serving.folder import TranslationModel
from nmt.serving.portable import portable, write_sentencepieces

MAX_POSITIONS = 1024  # tokens of a side
# What parameters are called: parts of our names and of Marian's
NAMES = {
    "target_embedding": "model.shared",
    "encoder.": "model.encoder.layers.",
    "decoder.": "model.decoder.layers.",
    "self_attention": "self_attn",
    "cross_attention": "encoder_attn",
    ".out.": ".out_proj.",
    "after_self.norm": "self_attn_layer_norm",
    "after_cross.norm": "encoder_attn_layer_norm",
    "feed_forward.inner": "fc1",
    "feed_forward.outer": "fc2",
    "after_feed_forward.norm": "final_layer_norm",
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
    if precision == "int8":
        raise UserError("transformers' Marian has no int8: give another --precision.")
    config, transformer = portable(
        model, "transformers' Marian", norm=["post"], positions=["sinusoidal"], tie=["all"]
    )
    target = model.subwords.target
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
    pieces = target.pieces(list(range(target.size)))
    tokenizer_config = {
        "source_lang": model.configuration.source,
        "target_lang": model.configuration.target,
        "tokenizer_class": "MarianTokenizer",
        "model_max_length": MAX_POSITIONS,
    }
    write_json(output / "vocab.json", {piece: number for number, piece in enumerate(pieces)})
    write_json(output / "tokenizer_config.json", tokenizer_config)
    write_sentencepieces(model, output, "spm")
    return LOADING


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
    """Return a Marian model with the weights of ours, and without other biases."""
    marian = MarianMTModel(marian_config(config, vocabulary_size, MAX_POSITIONS))
    marian.to(model.output.weight.dtype)
    weights = dict(marian_weights(model, config.d_model))
    with torch.no_grad():
        for name, parameter in marian.named_parameters():
            if name in weights:
                parameter.copy_(weights[name])
            elif name.endswith("bias"):
                parameter.zero_()
    return marian.eval()


def marian_weights(model: Transformer, d_model: int) -> Iterator[tuple[str, Tensor]]:
    """Yield our weights under Marian's names.

    In its positions all sines come before all cosines, so dimensions change places.
    """
    order = [*range(0, d_model, 2), *range(1, d_model, 2)]
    for name, tensor in parameters(model).items():
        for ours, theirs in NAMES.items():
            name = name.replace(ours, theirs)
        if "qkv" in name:
            for letter, part in zip("qkv", tensor.chunk(3), strict=True):
                yield name.replace("qkv", f"{letter}_proj"), part[:, order]
        elif name == "model.shared.weight" or name.endswith("fc1.weight"):
            yield name, tensor[:, order]
        else:
            yield name, tensor if name.endswith("fc1.bias") else tensor[order]
