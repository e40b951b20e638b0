"""COMET (Rei et al. 2022), of which neither package nor weights are a part of this project."""

from importlib import import_module, metadata

from nmt.errors import UserError

WEIGHTS = "Unbabel/wmt22-comet-da"


def comet(
    translations: list[str], references: list[list[str]], sources: list[str], *_: object
) -> tuple:
    """Return COMET in percent and its signature; raises UserError where it is not installed."""
    try:
        library = import_module("comet")
        file = library.download_model(WEIGHTS, local_files_only=True)
        model = library.load_from_checkpoint(file, local_files_only=True)
    except (ImportError, KeyError, OSError):
        raise UserError(
            "COMET is not here: `pip install unbabel-comet` in an environment of its own versions,"
            f" and `hf download` {WEIGHTS} and xlm-roberta-large, or leave comet out."
        ) from None
    texts = zip(sources, translations, references[0], strict=True)
    lines = [{"src": source, "mt": mt, "ref": reference} for source, mt, reference in texts]
    score = 100 * model.predict(lines, gpus=0, progress_bar=False).system_score
    return score, f"model:{WEIGHTS}|version:{metadata.version('unbabel-comet')}"
