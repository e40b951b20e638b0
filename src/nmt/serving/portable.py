"""What both exports ask of a model, and the files that both write."""

from pathlib import Path
from typing import cast

from nmt import configuration
from nmt.errors import UserError
from nmt.models.transformer import Transformer
from nmt.serving.folder import TranslationModel
from nmt.text.subwords import Subwords


def portable(
    model: TranslationModel, library: str, **allowed: list[str]
) -> tuple[configuration.Transformer, Transformer]:
    """Return the Transformer that a library is to carry, and its configuration.

    allowed: the values that keys of the configuration may have. Raises UserError for other models.
    """
    config = model.experiment.model
    if (
        not isinstance(config, configuration.Transformer)
        or not isinstance(model.subwords.target, Subwords)
        or config.key_width != config.value_width
        or config.attention_bias
        or config.final_norm
        or config.neighborhood is not None
        or any(getattr(config, key) not in values for key, values in allowed.items())
    ):
        keys = ", ".join(f"`{key}` {' or '.join(values)}" for key, values in allowed.items())
        raise UserError(
            f"{library} carries Transformers with sentencepiece's subwords, heads of d_model /"
            f" heads, {keys}, without attention_bias, final_norm and neighborhood: this model is"
            " another."
        )
    return config, cast(Transformer, model.single)


def write_sentencepieces(model: TranslationModel, folder: Path, ending: str) -> None:
    """Write the models of source and target as sentencepiece has them."""
    for side in ("source", "target"):
        processor = getattr(model.subwords, side).processor
        (folder / f"{side}.{ending}").write_bytes(processor.serialized_model_proto())
