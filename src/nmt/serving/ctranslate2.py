"""Export to CTranslate2 (https://opennmt.net/CTranslate2), with its own converter."""

from pathlib import Path

import numpy as np
import torch
from ctranslate2.specs import TransformerSpec
from ctranslate2.specs.common_spec import Activation
from ctranslate2.specs.model_spec import LayerSpec, index_spec
from torch import Tensor, nn

from nmt import configuration
from nmt.configuration import LEARNED_POSITIONS
from nmt.models.transformer import Transformer
from nmt.serving.folder import TranslationModel
from nmt.serving.portable import portable, write_sentencepieces

LOADING = (
    'Load `source = SentencePieceProcessor("source.model")` and'
    ' `target = SentencePieceProcessor("target.model")`; translate with `results ='
    ' ctranslate2.Translator(".").translate_batch([source.encode(TEXT, out_type=str)],'
    " beam_size={beam}, length_penalty={power:g})` and `target.decode(results[0].hypotheses[0])`."
)
# What layers have: our names and CTranslate2's. Its cross-attention has queries apart.
MODULES = {
    "self_attention.qkv": "self_attention/linear_0",
    "self_attention.out": "self_attention/linear_1",
    "after_self.norm": "self_attention/layer_norm",
    "cross_attention.out": "attention/linear_2",
    "after_cross.norm": "attention/layer_norm",
    "feed_forward.inner": "ffn/linear_0",
    "feed_forward.outer": "ffn/linear_1",
    "after_feed_forward.norm": "ffn/layer_norm",
}


def to_ctranslate2(model: TranslationModel, precision: str, output: Path) -> str:
    """Write the folder `output`, and return the line that says how to load it.

    It gets sentencepiece's source.model and target.model, too. Raises UserError for a model that
    the format cannot carry.
    """
    positions = ["sinusoidal", "sines-cosines", "learned", "none"]
    spec = specification(*portable(model, "CTranslate2", positions=positions))
    source, target = model.subwords.source, model.subwords.target
    spec.register_source_vocabulary(source.pieces(list(range(source.size))))
    spec.register_target_vocabulary(target.pieces(list(range(target.size))))
    spec.validate()
    spec.optimize(quantization=precision)
    output.mkdir()
    spec.save(str(output))
    write_sentencepieces(model, output, "model")
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
    layer_specs = (*spec.encoder.layer, *spec.decoder.layer)
    for layer_spec, layer in zip(layer_specs, (*model.encoder, *model.decoder), strict=True):
        for name, module in layer.named_modules():
            if name in MODULES:
                fill(index_spec(layer_spec, MODULES[name]), module)
    for layer_spec, layer in zip(spec.decoder.layer, model.decoder, strict=True):
        weight = layer.cross_attention.qkv.weight
        layer_spec.attention.linear[0].weight = to_array(weight[: config.d_model])
        layer_spec.attention.linear[1].weight = to_array(weight[config.d_model :])
    fill(spec.decoder.projection, model.output)
    return spec


def fill(spec: LayerSpec, module: nn.Module) -> None:
    """Copy weight and bias of a linear layer, or gain and bias of a norm."""
    weight, bias = ("gamma", "beta") if isinstance(module, nn.LayerNorm) else ("weight", "bias")
    for name, parameter in module.named_parameters():
        setattr(spec, weight if name == "weight" else bias, to_array(parameter))


def to_array(tensor: Tensor) -> np.ndarray:
    """Return a copy in float32: quantization is in place."""
    return np.array(tensor.detach().float().cpu(), order="C")
