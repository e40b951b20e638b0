"""The example of docs/extending.md in a copy of the repository: text and what follows from it."""

import os
import re

import pytest

from nmt.text.grammar import Grammar, generate
from tests.support.workflows import copy_repository, dry_run, planned_jobs, snakemake

MINE = "config/mine.yaml"
SPLITS = ("train", "dev", "test")
EXTRACTED = {f"extract_text corpus=my-corpus, split={split}" for split in SPLITS}
RAW = [
    f"results/corpora/my-corpus/raw/{split}.{language}"
    for split in SPLITS
    for language in ("en", "de")
]


@pytest.fixture(scope="module")
def extracted(tmp_path_factory):
    """A copy with the page's two files of YAML and text of 3,000 pairs, extracted."""
    folder = copy_repository(tmp_path_factory.mktemp("own") / "a clone")
    page = (folder / "docs" / "extending.md").read_text(encoding="utf-8")
    entry, reproduction = (
        re.search(rf"```yaml\n({start}:.*?)```", page, re.DOTALL)[1]
        for start in ("my-corpus", "name")
    )
    with open(folder / "config" / "corpora.yaml", "a", encoding="utf-8") as file:
        file.write(f"\n{entry}")
    (folder / MINE).write_text(reproduction, encoding="utf-8")
    grammar = Grammar.load(folder / "config" / "grammar.yaml", "en", "de")
    pairs = generate(grammar, {"train": 3000}, 1)["train"]
    (folder / "data").mkdir()
    for side, language in enumerate(("en", "de")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (folder / "data" / f"train.{language}").write_text(text, encoding="utf-8")
    process = snakemake(folder, *RAW, configuration=MINE)
    assert process.returncode == 0, process.stdout
    return folder


def test_the_text_is_divided(extracted):
    counts = {path: (extracted / path).read_bytes().count(b"\n") for path in RAW}
    assert list(counts.values()) == [1000] * 6


def test_everything_follows_from_it(extracted):
    jobs = planned_jobs(extracted, configuration=MINE)
    assert {job.split()[0] for job in jobs} >= {
        "normalize_text",
        "train",
        "translate",
        "make_table",
    }
    assert not EXTRACTED & jobs


def test_an_edited_file_is_read_again(extracted):
    path = extracted / "data" / "train.en"
    os.utime(path)
    assert planned_jobs(extracted, *RAW, configuration=MINE) == set()
    before = path.read_bytes()
    path.write_bytes(before + before[:1000])
    os.utime(path, (1e9, 1e9))  # as `cp -p` leaves it: older than what was made of the file before
    try:
        assert planned_jobs(extracted, *RAW, configuration=MINE) == EXTRACTED
    finally:
        path.write_bytes(before)


def test_a_date_in_the_future_is_named_with_what_to_do(extracted):
    path = extracted / "data" / "train.en"
    os.utime(path, (2**32, 2**32))
    try:
        process = dry_run(extracted, *RAW, configuration=MINE)
    finally:
        os.utime(path)
    assert process.returncode == 1
    assert "touch data/train.en" in process.stdout


def test_what_is_held_out_can_be_changed(extracted):
    path = extracted / "config" / "corpora.yaml"
    before = path.read_text(encoding="utf-8")
    path.write_text(before.replace("{dev: 1000, test: 1000}", "{dev: 1000, test: 900}"))
    try:
        assert planned_jobs(extracted, *RAW, configuration=MINE) == EXTRACTED
    finally:
        path.write_text(before, encoding="utf-8")


def test_a_file_that_is_not_there_is_named(extracted):
    path = extracted / "data" / "train.de"
    raw = extracted / RAW[0]
    path.rename(extracted / "away")
    raw.rename(extracted / "raw-away")
    try:
        process = dry_run(extracted, *RAW, configuration=MINE)
    finally:
        (extracted / "away").rename(path)
        (extracted / "raw-away").rename(raw)
    assert process.returncode == 1
    assert "Missing input files for rule extract_text:" in process.stdout
    assert "        data/train.de\n" in process.stdout
