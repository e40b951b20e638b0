"""All that train.py needs for the rows of tests/workflow/tiny, without running the workflow."""

import shutil
from pathlib import Path

import yaml
from support.files import ROOT
from support.tiny_subwords import write_subwords

from nmt.configuration import load_catalog
from nmt.data.tokens import write_tokens
from nmt.files import write_lines
from nmt.text.grammar import Grammar, generate
from nmt.text.subwords import SubwordPair

ROWS = ("tiny-transformer", "tiny-rnnsearch", "tiny-seq2seq")


def prepare(folder: Path, **training: object) -> Path:
    """Writes catalog, text, subwords and tokens into `folder`; `training` changes keys of every
    row.
    """
    shutil.copytree(ROOT / "tests" / "workflow" / "tiny", folder / "catalog", dirs_exist_ok=True)
    change(folder, "tiny", **training)
    catalog = load_catalog(folder / "catalog")
    corpus, vocabulary = catalog.corpus("tiny"), catalog.vocabulary("tiny-bpe")
    languages = list(corpus.languages.values())
    grammar = Grammar.load(ROOT / corpus.generated.grammar, *languages)
    text = {}
    for split, pairs in generate(grammar, corpus.generated.sizes, corpus.generated.seed).items():
        text[split] = [folder / f"{split}.{language}" for language in languages]
        for side, file in enumerate(text[split]):
            write_lines(file, (pair[side] for pair in pairs))
    write_subwords(folder, vocabulary, *text["train"])
    for split in ("train", "dev"):
        subwords = SubwordPair.load(folder / "subwords")
        write_tokens(folder / f"tokens-{split}", subwords, *text[split], None, 1)
    return folder


def change(folder: Path, entry: str, **values: object) -> None:
    """Changes an entry of the catalog's experiments, or adds one."""
    file = folder / "catalog" / "experiments" / "tiny.yaml"
    declared = yaml.safe_load(file.read_text(encoding="utf-8"))
    declared["experiments"].setdefault(entry, {}).update(values)
    file.write_text(yaml.safe_dump(declared), encoding="utf-8")


def arguments(folder: Path, output: Path, **changes: object) -> list[str]:
    """Of train.py."""
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
