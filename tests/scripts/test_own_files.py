"""A corpus of the user's files, as docs/extending.md shows it, from text to tokens."""

import re

import pytest
import yaml

from nmt.text.grammar import Grammar, generate
from tests.support.files import ROOT

PAIRS = 600
LANGUAGES = ("en", "de")


def blocks(page: str) -> list[dict]:
    """Return what the YAML examples of a page of docs say."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    return [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


@pytest.fixture(scope="module")
def sentences():
    """Different pairs of sentences."""
    grammar = Grammar.load(ROOT / "config" / "grammar.yaml", *LANGUAGES)
    return generate(grammar, {"train": PAIRS}, 1)["train"]


@pytest.fixture
def own(tmp_path, catalog, run_script):
    """own(pairs, **changes) writes data/train.en and .de and the example's entry.

    It returns extract(split), which extracts a split and returns its pairs.
    """
    (entry,) = (block["my-corpus"] for block in blocks("extending.md") if "my-corpus" in block)
    assert entry["splits"] == {"train": [{"source": "data/train.en", "target": "data/train.de"}]}
    part = {"source": f"{tmp_path}/data/train.en", "target": f"{tmp_path}/data/train.de"}
    (tmp_path / "data").mkdir()

    def make(pairs, **changes):
        for side, language in enumerate(LANGUAGES):
            lines = "".join(f"{pair[side]}\n" for pair in pairs)
            (tmp_path / "data" / f"train.{language}").write_text(lines, encoding="utf-8")
        values = entry | {"splits": {"train": [part]}, "held_out": {"dev": 40, "test": 20}}
        if not (tmp_path / "catalog").exists():
            catalog()
        corpora = yaml.safe_dump({"my-corpus": values | changes})
        (tmp_path / "catalog" / "corpora.yaml").write_text(corpora, encoding="utf-8")
        return lambda split: extracted(tmp_path, run_script, split)

    return make


def extract(folder, split):
    options = {
        "catalog": folder / "catalog",
        "corpus": "my-corpus",
        "split": split,
        "archives": folder / "downloads",
        "source": folder / f"{split}.en",
        "target": folder / f"{split}.de",
    }
    return ["extract", *(f"--{name}={value}" for name, value in options.items())]


def extracted(folder, run_script, split):
    process = run_script(*extract(folder, split))
    assert process.returncode == 0, process.stderr
    sides = [(folder / f"{split}.{language}").read_text().splitlines() for language in LANGUAGES]
    return list(zip(*sides, strict=True))


def test_what_is_held_out_is_not_trained_on(own, sentences):
    """Check duplicates too: no copy of a held-out pair may stay."""
    pairs = [*sentences, *sentences[::2], ("", "leer"), ("empty", "")]
    split = own(pairs)
    train, dev, test = map(split, ("train", "dev", "test"))
    assert (len(set(dev)), len(dev), len(set(test)), len(test)) == (40, 40, 20, 20)
    assert not set(dev) & set(test)
    held_out = {*dev, *test}
    assert train == [pair for pair in pairs if pair not in held_out]
    assert all(map(all, held_out))


def test_the_choice_is_random_and_hardly_changes_with_the_text(own, sentences):
    dev = own(sentences)("dev")
    assert own(sentences[::-1])("dev") == dev[::-1]
    assert 0.3 < sum(map(sentences.index, dev)) / 40 / PAIRS < 0.7
    assert len(set(own(sentences[:-60])("dev")) & set(dev)) > 30
    assert own(sentences, held_out={"dev": 40, "more": 100})("dev") == dev


def test_dev_and_test_sets_may_be_files(own, sentences, tmp_path):
    (tmp_path / "data" / "dev.tsv").write_text("a\tb\nc\td\n")
    path = f"{tmp_path}/data/dev.tsv"
    pairs = {"source": f"{tmp_path}/data/train.en", "target": f"{tmp_path}/data/train.de"}
    dev = [{"source": path, "target": path, "format": "tsv"}]
    split = own(sentences, splits={"train": [pairs], "dev": dev}, held_out={"test": 20})
    assert split("dev") == [("a", "b"), ("c", "d")]
    assert len(split("train")) == PAIRS - 20
    split = own(sentences, splits={"train": [pairs], "dev": dev}, held_out={})
    assert split("train") == sentences


def test_mistakes_are_one_sentence(own, sentences, tmp_path, run_failing):
    own(sentences[:60])
    error = run_failing(*extract(tmp_path, "dev"))
    assert "held_out: 60 pairs" in error
    (tmp_path / "data" / "train.de").unlink()
    assert f"{tmp_path}/data/train.de is not there." in run_failing(*extract(tmp_path, "train"))
    assert not list(tmp_path.glob("*.en"))
