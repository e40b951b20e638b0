"""What the exports share: limits of other formats, and whole vocabularies."""

from nmt.configuration import Transformer
from nmt.errors import UserError
from nmt.text.subwords import Segmenter

MAX_POSITIONS = 1024  # tokens of a side, where a format has a table of positions


def refuse(to: str, features: dict[str, bool]) -> None:
    """Raise UserError when one of the features is present: the format cannot carry it."""
    for feature, present in features.items():
        if present:
            raise UserError(f"{to} cannot carry {feature}: export this model to safetensors.")


def has_uneven_heads(config: Transformer) -> bool:
    """Return whether the width of heads is not d_model / heads."""
    widths = (config.heads * config.key_width, config.heads * config.value_width)
    return widths != (config.d_model, config.d_model)


def all_pieces(subwords: Segmenter) -> list[str]:
    """Return the whole vocabulary, in the order of ids."""
    return subwords.pieces(list(range(subwords.size)))
