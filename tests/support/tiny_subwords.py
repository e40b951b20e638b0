"""Subwords of little text, in a folder as learn_vocabulary.py makes them."""

from pathlib import Path

from nmt.configuration import Vocabulary
from nmt.text.subwords import SUBWORD_FILES, learn_pair


def write_subwords(folder: Path, vocabulary: Vocabulary, source: Path, target: Path) -> Path:
    """FOLDER/subwords, made unless it is there."""
    made = folder / "subwords"
    if not made.exists():
        made.mkdir()
        models = learn_pair(vocabulary, source, target, 1)
        for name, model in zip(SUBWORD_FILES, models, strict=True):
            (made / name).write_bytes(model)
    return made
