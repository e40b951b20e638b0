"""All that train.py needs for the rows of tests/workflow/tiny, without running the workflow."""

import shutil
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from nmt.configuration import load_catalog
from nmt.data.tokens import write_tokens
from nmt.files import write_lines
from nmt.text.grammar import Grammar, generate
from nmt.text.subwords import SubwordPair
from tests.support.files import ROOT
from tests.support.tiny_subwords import write_subwords

ROWS = ("tiny-transformer", "tiny-rnnsearch", "tiny-seq2seq")


def prepare(folder: Path, **training: object) -> Path:
    """Write catalog, text, subwords and tokens into the folder, and return it.

    training: keys of every row to change.
    """
    shutil.copytree(made_once().name, folder, dirs_exist_ok=True)
    change(folder, "tiny", **training)
    return folder


@cache
def made_once() -> TemporaryDirectory:
    """Return a folder with the unchanged catalog and its data, which lasts as long as Python."""
    temporary = TemporaryDirectory()
    folder = Path(temporary.name)
    shutil.copytree(ROOT / "tests" / "workflow" / "tiny", folder / "catalog")
    catalog = load_catalog(folder / "catalog")
    corpus = catalog.corpus("tiny")
    languages = list(corpus.languages.values())
    grammar = Grammar.load(ROOT / corpus.generated.grammar, *languages)
    text = {}
    for split, pairs in generate(grammar, corpus.generated.sizes, corpus.generated.seed).items():
        text[split] = [folder / f"{split}.{language}" for language in languages]
        for side, file in enumerate(text[split]):
            write_lines(file, (pair[side] for pair in pairs))
    write_subwords(folder, catalog.vocabulary("tiny-bpe"), *text["train"])
    subwords = SubwordPair.load(folder / "subwords")
    for split in ("train", "dev"):
        write_tokens(folder / f"tokens-{split}", subwords, *text[split], None, 1)
    return temporary


def change(folder: Path, entry: str, **values: object) -> None:
    """Change an entry of the catalog's experiments, or add one."""
    change_several(folder, {entry: values})


def change_several(folder: Path, entries: dict[str, dict]) -> None:
    """Change entries of the catalog's experiments, or add some."""
    file = folder / "catalog" / "experiments" / "tiny.yaml"
    declared = yaml.safe_load(file.read_text(encoding="utf-8"))
    for entry, values in entries.items():
        declared["experiments"].setdefault(entry, {}).update(values)
    file.write_text(yaml.safe_dump(declared), encoding="utf-8")


def arguments(folder: Path, output: Path, **changes: object) -> list[str]:
    """Return the arguments of train.py."""
    named = {
        "catalog": folder / "catalog",
        "corpus": "tiny",
        "experiment": "tiny-transformer",
        "tokens": folder / "tokens-train",
        "dev_tokens": folder / "tokens-dev",
        "dev_reference": folder / "dev.de",
        "subwords": folder / "subwords",
        "output": output,
        "threads": 1,
    }
    return [f"--{name.replace('_', '-')}={value}" for name, value in (named | changes).items()]
