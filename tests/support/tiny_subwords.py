"""Subwords of little text, in a folder as learn_vocabulary.py makes them."""

from pathlib import Path

from nmt.configuration import Vocabulary
from nmt.text import subwords


def write_subwords(folder: Path, vocabulary: Vocabulary, source: Path, target: Path) -> Path:
    """Return FOLDER/subwords, which is made unless it is there."""
    made = folder / "subwords"
    if not made.exists():
        made.mkdir()
        subwords.write_subwords(made, subwords.learn_pair(vocabulary, source, target, 1))
    return made
