"""Models too small to be good, in folders as average.py makes them."""

from pathlib import Path

import torch

from nmt.configuration import (
    Corpus,
    Decoding,
    Experiment,
    Generated,
    Training,
    Vocabulary,
)
from nmt.data.writing import write_tokens
from nmt.files import write_lines
from nmt.models.build import build
from nmt.models.weights import parameters
from nmt.serving.folder import save_model
from nmt.text.subwords import SubwordPair, learn_pair
from nmt.text.subwords import write_subwords as write_models
from tests.support.families import FAMILIES

SOURCE = [
    "a man sits on a bench .",
    "two dogs run .",
    "a dog sits .",
    "two men sit on two benches .",
]
TARGET = [
    "ein mann sitzt auf einer bank .",
    "zwei hunde laufen .",
    "ein hund sitzt .",
    "zwei männer sitzen .",
]
VOCABULARY = Vocabulary(size=50)
PROVENANCE = {
    "checkpoints": ["00000001.safetensors"],
    "training": {
        "updates": 1,
        "parameters": 4321,
        "device_seconds": 1800.0,
        "flops": 1.5e12,
        "settings": {"seed": 7},
        "made_by": [
            {
                "command": "src/train.py",
                "commit": "abc",
                "torch": "2",
                "processes": 1,
                "threads": 2,
                "device": "a CPU",
            }
        ],
    },
}
NAMES = ("transformer", "rnnsearch", "seq2seq")  # of families.FAMILIES


def write_subwords(folder: Path, vocabulary: Vocabulary, source: Path, target: Path) -> Path:
    """Return FOLDER/subwords, which is made as learn_vocabulary.py does unless it is there."""
    made = folder / "subwords"
    if not made.exists():
        made.mkdir()
        write_models(made, learn_pair(vocabulary, source, target, 1))
    return made


def make_model(folder: Path, family: str) -> Path:
    """Write the model's folder FOLDER/FAMILY and return it.

    Its weights are random, the same every time. There are FOLDER/text.en, text.de, subwords and
    tokens, too.
    """
    source, target = folder / "text.en", folder / "text.de"
    write_lines(source, SOURCE)
    write_lines(target, TARGET)
    subwords = write_subwords(folder, VOCABULARY, source, target)
    if not (folder / "tokens").exists():
        write_tokens(folder / "tokens", SubwordPair.load(subwords), source, target, None, 1)
    training = Training(
        updates=1,
        batch_tokens=100,
        warmup=1,
        peak_learning_rate=0.1,
        interval=1,
        precision="bfloat16",
    )
    experiment = Experiment(
        title="Tiny",
        vocabulary="tiny",
        model=FAMILIES[family],
        training=training,
        decoding=Decoding(max_extra=3),
    )
    corpus = Corpus(
        title="Tiny",
        source="en",
        target="de",
        license="free",
        generated=Generated(grammar="none", seed=1, sizes={"train": 1, "dev": 1}),
    )
    torch.manual_seed(1)
    weights = parameters(build(FAMILIES[family], VOCABULARY.size, VOCABULARY.size))
    save_model(folder / family, weights, subwords, experiment, VOCABULARY, corpus, PROVENANCE)
    return folder / family
