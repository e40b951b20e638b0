"""Neural machine translation as in "Attention Is All You Need", and its baselines."""


def load(*folders: str):
    """Return a model, or an ensemble of several: `load(FOLDER).translate(["A sentence."])`."""
    from pathlib import Path  # here, as the next one: who imports a part of nmt needs no torch

    from nmt.serving.folder import TranslationModel

    return TranslationModel(*map(Path, folders))
