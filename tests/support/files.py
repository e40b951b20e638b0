"""The repository, and the files beside it that tests use where they are."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src"

# By folder of the mirror
HOW_TO_GET = {
    "multi30k": "download it from the address that config/corpora.yaml gives",
    "tatoeba": "download the 169,197 sentence pairs of www.manythings.org/anki in this archive",
    "newstest": "print it with `sacrebleu --test-set wmt14/full --language-pair en-de --echo ref`",
    "golden": "no public address has this output of an English-German system; ask for a copy",
}


def flip_last_bit(path: Path) -> None:
    """Damage a file."""
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))


class Harm:
    """What makes a file when it is unpickled."""

    def __init__(self, file: Path):
        self.file = file

    def __reduce__(self):
        return Path.touch, (self.file,)


def mirror() -> Path:
    """Return the folder of corpora: $NMT_MIRROR, else ../shared/corpora beside the repository."""
    return Path(os.environ.get("NMT_MIRROR") or ROOT.parent / "shared" / "corpora")


def mirrored(name: str) -> Path:
    """Return a file of the mirror, such as multi30k/val.de.gz, or skip the test."""
    return existing(mirror() / name)


def golden(name: str) -> Path:
    """Return a file of the folder `golden` beside the mirror, or skip the test."""
    return existing(mirror().parent / "golden" / name)


def existing(path: Path) -> Path:
    """Return the path of a file, or skip the test and say in one sentence how to get the file."""
    if not path.is_file():
        how = HOW_TO_GET[path.parent.name]
        pytest.skip(f"{path} is not there: {how}, and name the folder of corpora in NMT_MIRROR.")
    return path
